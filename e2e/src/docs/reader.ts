import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const TIMEOUT_MS = 40_000

type Variables = Record<string, string>

/** The shell keeps exported variables and functions for the next block. */
const oneBlock = `
source ./shell
source ./block
{ declare -px; declare -f; } > ./shell
env -0 > ./environment`

/** Runs examples in one shell, in `folder`, with only these variables. */
export function startReader(folder: string, given: Variables) {
  const at = (name: string) => join(folder, name)
  const run = async (command: string, args: string[], env: Variables) => {
    const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env, timeout: TIMEOUT_MS })
    return stdout
  }
  const system: Variables = { PATH: process.env.PATH ?? '', HOME: folder }
  let environment: Variables = { ...system, ...given }
  writeFileSync(at('shell'), '')

  return {
    async shell(text: string) {
      writeFileSync(at('block'), text)
      const printed = await run('bash', ['-euo', 'pipefail', '-c', oneBlock], environment)
      const pairs = readFileSync(at('environment'), 'utf8').split('\0').filter(Boolean)
      environment = Object.fromEntries(
        pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
      )
      return printed
    },
    program: (file: string, changes: Variables = {}) =>
      run(process.execPath, [file], { ...environment, ...changes }),
  }
}
