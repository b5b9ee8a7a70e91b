import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const folder = dirname(__dirname)
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
  bin: { tollgate: string }
}

test('the package holds its program, what the program loads, and its documents', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const [packed] = JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8' })) as [
    { files: { path: string }[] },
  ]
  const paths = packed.files.map(({ path }) => path)
  const program = readFileSync(join(folder, manifest.bin.tollgate), 'utf8')
  const [, loaded = ''] = /require\('\.\.\/([^']+)'\)/.exec(program) ?? []
  expect(paths).toEqual(
    expect.arrayContaining([manifest.bin.tollgate, loaded, 'README.md', 'MCP.md', 'LICENSE']),
  )
  expect(paths.filter((path) => /\.test\.|\/testing\//.test(path))).toEqual([])
})

test('the program of a checkout that is not built names the command that builds it', () => {
  const unbuilt = mkdtempSync(join(tmpdir(), 'tollgate-unbuilt-'))
  cpSync(join(folder, 'bin'), join(unbuilt, 'bin'), { recursive: true })
  const { status, stderr } = spawnSync(process.execPath, [join(unbuilt, manifest.bin.tollgate)], {
    encoding: 'utf8',
  })
  rmSync(unbuilt, { recursive: true })
  expect([status, stderr]).toEqual([
    1,
    'tollgate: this checkout is not built; run in its root: npx pnpm@10 install && npx pnpm@10 --filter "@tollgate/cli..." build\n',
  ])
})
