import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const OLDEST_NODE = [20, 19]
const packageManager = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager
const stampFile = join(root, 'node_modules', '.tollgate-installed')

/** What the services and the demo do not need: the end-to-end tests, whose dependencies are the larger part, and the wallet's side. */
const FOR_TESTS = ['e2e', 'faults', 'bench', 'release', 'browser-testing', 'cli', 'example-*']

/**
 * Installs dependencies by the lock file, generates the database clients, and builds `projects` or everything. Without `forTests`
 * it skips the dependencies of what is only tested.
 */
export async function prepare({ projects = [], forTests }) {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]))
    throw new Error(`Tollgate needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}`)
  await install(forTests)
  await step('database clients', process.execPath, ['packages/database/scripts/generate.mjs'])
  await step('build', process.execPath, ['node_modules/typescript/bin/tsc', '--build', ...projects])
  await buildConsole()
  // Its ESM half is no project of the root's tsconfig.json.
  if (forTests) await step('wallet package', process.execPath, ['packages/wallet/scripts/build.mjs'])
}

const consoleStampFile = join(root, 'apps/console/dist/.built')
const CONSOLE_SOURCES = [
  'apps/console/src',
  'apps/console/scripts',
  'apps/console/index.html',
  'apps/console/package.json',
  'apps/console/vite.config.ts',
  'packages/wallet/src',
  'packages/protocol/src',
  'pnpm-lock.yaml',
]

/** Skipped if neither a source of the pages nor a dependency has changed. */
async function buildConsole() {
  const hash = createHash('sha256')
  for (const file of CONSOLE_SOURCES.flatMap(filesOf))
    hash.update(file).update(readFileSync(join(root, file)))
  const stamp = hash.digest('hex')
  if (readOrUndefined(consoleStampFile) === stamp) return
  await step('console', process.execPath, ['apps/console/scripts/build.mjs'])
  writeFileSync(consoleStampFile, stamp)
}

const filesOf = (path) =>
  statSync(join(root, path)).isDirectory()
    ? readdirSync(join(root, path))
        .sort()
        .flatMap((name) => filesOf(`${path}/${name}`))
    : [path]

/** Skipped if the lock file and the manifests have not changed. */
export async function install(forTests) {
  const stamp = installStamp()
  const installed = readOrUndefined(stampFile)
  if (installed === `${stamp} all` || (installed === stamp && !forTests)) return
  const npx = process.platform === 'win32' ? 'npx.cmd' : 'npx'
  const flags = ['--frozen-lockfile', '--reporter=append-only', '--config.confirmModulesPurge=false']
  const filter = forTests ? [] : FOR_TESTS.flatMap((name) => ['--filter', `!@tollgate/${name}`])
  await step('dependencies', npx, ['--yes', packageManager, ...filter, 'install', ...flags])
  mkdirSync(dirname(stampFile), { recursive: true })
  writeFileSync(stampFile, forTests ? `${stamp} all` : stamp)
}

function installStamp() {
  const hash = createHash('sha256').update(process.version)
  const manifests = [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    '.pnpmfile.cjs',
    'package.json',
    'e2e/package.json',
    'faults/package.json',
    'bench/package.json',
  ]
  for (const folder of ['apps', 'packages'])
    for (const name of readdirSync(join(root, folder)).sort())
      manifests.push(join(folder, name, 'package.json'))
  for (const file of manifests) hash.update(file).update(readOrUndefined(join(root, file)) ?? '')
  return hash.digest('hex')
}

function readOrUndefined(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Runs a command in the checkout and prints its output and duration. */
export async function step(name, command, args) {
  const startedAt = performance.now()
  console.log(`· ${name} …`)
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, CI: 'true' } })
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (status, signal) => resolve(signal ?? status))
  })
  if (code !== 0) throw new Error(`${name} failed (${code}): ${command} ${args.join(' ')}`)
  console.log(`· ${name} done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
}
