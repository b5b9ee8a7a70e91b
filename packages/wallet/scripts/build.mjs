import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const HELP = `Usage: node packages/wallet/scripts/build.mjs [--help]

Builds both module systems of @tollgate/wallet: dist/cjs for require, dist/esm for import, each with its declarations. Deletes
the output of sources that no longer exist. Compiles the tests too; they are in no package.
`

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')

/** Without `withTests` it needs no dependency of the tests. @throws if the types are wrong */
export function build({ withTests }) {
  const tsc = createRequire(join(root, '../../package.json')).resolve('typescript/package.json')
  const args = [
    join(dirname(tsc), 'bin/tsc'),
    '--build',
    withTests ? 'tsconfig.json' : 'tsconfig.cjs.json',
    'tsconfig.esm.json',
  ]
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed')
  for (const format of ['cjs', 'esm']) deleteStale(join(dist, format))
  // Node and bundlers read the nearest one only.
  const marker = { type: 'module', sideEffects: false }
  replaceFile(join(dist, 'esm/package.json'), `${JSON.stringify(marker)}\n`)
}

function deleteStale(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name)
    const source = join(root, 'src', relative(folder, path).replace(/(\.d\.ts|\.js|\.js\.map)$/, '.ts'))
    if (entry.isFile() && entry.name !== 'package.json' && (path.endsWith('.map') || !existsSync(source)))
      rmSync(path, { force: true })
  }
}

/** Another process may read it. */
function replaceFile(path, text) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  const next = `${path}.${process.pid}`
  writeFileSync(next, text)
  renameSync(next, path)
}

function main() {
  const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
  if (values.help) return process.stdout.write(HELP)
  build({ withTests: true })
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  try {
    main()
  } catch (error) {
    console.error(`build: ${error.message}`)
    process.exitCode = error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1
  }
