import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const SOURCES = join(__dirname, 'sdk-chain')
const BUILD_TIMEOUT_MS = 30 * 60_000

export type Program = { skipReason: string } | { build: () => Promise<string> }

/** The cached binary if there is one; else a build if the environment requests it. */
export function findProgram(environment = process.env): Program {
  const binary = join(cacheFolder(), 'sdk-chain')
  if (existsSync(binary)) return { build: () => Promise.resolve(binary) }
  if (environment['TOLLGATE_COMPARE_COSMOS'] !== '1')
    return { skipReason: 'the Go program is not built; TOLLGATE_COMPARE_COSMOS=1 builds it' }
  if (spawnSync('go', ['version']).status !== 0) return { skipReason: 'Go is not on the PATH' }
  return { build: () => build(binary) }
}

async function build(binary: string): Promise<string> {
  mkdirSync(dirname(binary), { recursive: true })
  const partial = `${binary}.${process.pid}`
  await promisify(execFile)('go', ['build', '-trimpath', '-mod=readonly', '-o', partial, '.'], {
    cwd: SOURCES,
    timeout: BUILD_TIMEOUT_MS,
  })
  renameSync(partial, binary)
  return binary
}

/** A separate folder for each version of the sources. */
function cacheFolder(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(SOURCES).sort()) hash.update(name).update(readFileSync(join(SOURCES, name)))
  const key = hash.digest('hex').slice(0, 16)
  return join(packageFolder(), 'node_modules', '.cache', 'sdk-chain', key)
}

function packageFolder(folder = __dirname): string {
  return existsSync(join(folder, 'package.json')) ? folder : packageFolder(dirname(folder))
}
