import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
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
