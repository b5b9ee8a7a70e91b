import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Contender, type Load, loadByWrk } from './load/load'
import { root } from './machine'
import { openBareProxy } from './paid/contenders'
import { openRig } from './paid/rig'
import { interleave, medianOf } from './rounds'

const HELP = `Usage: node bench/dist/paid-path.js [--gateway FOLDER] [--rounds N] [--seconds N] [--profile FOLDER]

Measures paid calls against the bare proxy within a minute, and prints calls per second and CPU seconds per 1,000 calls.

  --gateway FOLDER  a built checkout whose gateway is measured (this one)
  --rounds N        rounds (3)
  --seconds N       of each contender in each round (4)
  --profile FOLDER  leaves a CPU profile of the gateway there
  --help            this text
`

const CONNECTIONS = 64
const WALLETS = 64
const WARM_UP_SECONDS = 3

const progress = (line: string) => void process.stderr.write(`· ${line}\n`)

function readCommand() {
  const { values } = parseArgs({
    options: {
      gateway: { type: 'string', default: root },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const { gateway, profile, help } = values
  const [checkout, profileFolder] = [resolve(gateway), profile === undefined ? undefined : resolve(profile)]
  return { checkout, profileFolder, help, rounds: Number(values.rounds), seconds: Number(values.seconds) }
}
type Command = ReturnType<typeof readCommand>

async function measure(
  { checkout, profileFolder, rounds, seconds }: Command,
  place: { folder: string; closeLater: (close: () => unknown) => void },
) {
  const { folder } = place
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
  if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true })
  const rig = await openRig(place, { wallets: WALLETS, checkout })
  const gateway = await rig.startGateway({ nodeArguments: profiling })
  const paid: Contender = { ...gateway, requests: rig.requests() }
  const bare = await openBareProxy({ ...place, progress }, rig)

  const warmUp = { connections: CONNECTIONS, seconds: WARM_UP_SECONDS, folder }
  await rig.load(paid, warmUp)
  await loadByWrk(bare, warmUp)
  const options = { connections: CONNECTIONS, seconds, folder }
  const samples = await interleave(
    { rounds, progress },
    {
      tollgate: () => rig.load(paid, options),
      bare: () => loadByWrk(bare, options),
    },
    ({ callsPerSecond, cpuSeconds }) => `${Math.round(callsPerSecond)}/s, ${cpuSeconds.toFixed(3)} CPU s`,
  )
  await rig.audit()
  // It writes its profile.
  await gateway.stop()
  printFigures(samples)
}

function printFigures({ tollgate, bare }: Record<'tollgate' | 'bare', Load[]>) {
  const print = (name: string, value: number, digits: number) =>
    process.stdout.write(`${name.padEnd(44)}${value.toFixed(digits)}\n`)
  const rate = medianOf(tollgate, ({ callsPerSecond }) => callsPerSecond)
  const bareRate = medianOf(bare, ({ callsPerSecond }) => callsPerSecond)
  const cpu = (name: string) => medianOf(tollgate, ({ others }) => others[name] ?? 0)
  print('tollgate calls/s', rate, 0)
  print(
    'tollgate p50 ms',
    medianOf(tollgate, ({ p50Ms }) => p50Ms),
    1,
  )
  print(
    'tollgate p99 ms',
    medianOf(tollgate, ({ p99Ms }) => p99Ms),
    1,
  )
  print(
    'tollgate gateway CPU s per 1,000 calls',
    medianOf(tollgate, ({ cpuSeconds }) => cpuSeconds),
    4,
  )
  print('tollgate Postgres CPU s per 1,000 calls', cpu('postgres'), 4)
  print('tollgate Redis CPU s per 1,000 calls', cpu('redis'), 4)
  print('tollgate CPU s of all per 1,000 calls', cpu('everything'), 4)
  print(
    'tollgate WAL bytes per call',
    medianOf(tollgate, ({ costs }) => costs['walBytes'] ?? 0),
    0,
  )
  print(
    'tollgate Redis commands per call',
    medianOf(tollgate, ({ costs }) => costs['redisCommands'] ?? 0),
    3,
  )
  print('bare proxy calls/s', bareRate, 0)
  print(
    'bare proxy p99 ms',
    medianOf(bare, ({ p99Ms }) => p99Ms),
    1,
  )
  print(
    'bare proxy CPU s per 1,000 calls',
    medianOf(bare, ({ cpuSeconds }) => cpuSeconds),
    4,
  )
  print('ratio', rate / bareRate, 3)
}

async function main() {
  const command = readCommand()
  if (command.help) return void process.stdout.write(HELP)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    await measure(command, { folder, closeLater: (close) => closing.push(close) })
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(
      `paid-path: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
    process.exit(1)
  },
)
