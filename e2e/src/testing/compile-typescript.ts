import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../../..')
const DIAGNOSTIC = /^(?<file>[^\s(]+)\((?<line>\d+),\d+\): error (?<message>.+)$/gm

/**
 * Type-checks the TypeScript files of `folder/source`, with the libraries of this package, and writes the programs into
 * `folder/programs`. Strict, as a reader's project would be. The folder must be new.
 */
export function compileTypeScript(folder: string) {
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    rootDir: 'source',
    outDir: 'programs',
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['source'] }))
  symlinkSync(join(root, 'e2e/node_modules'), join(folder, 'node_modules'))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout, stderr, status } = spawnSync(process.execPath, [compiler, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  })
  const errors = [...stdout.matchAll(DIAGNOSTIC)].map(({ groups = {} }) => ({
    file: join(folder, groups['file'] ?? ''),
    line: Number(groups['line']),
    message: groups['message'] ?? '',
  }))
  if (status !== 0 && errors.length === 0) throw new Error(`tsc exited with ${status}: ${stdout}${stderr}`)
  return errors
}
