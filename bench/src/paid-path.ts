import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './machine'
import { type Contender, loadByWrk } from './load/load'
import { paidRequest, rpcRequest } from './paid/calls'
import { startGateway } from './paid/gateway'
import { loadGateway } from './paid/paid-load'
import { openStores } from './paid/stores'
import { startBareProxy } from './peers/node-peer'
import { MEGABYTE_PATH, startUpstream } from './peers/nginx'
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
  return { ...values, rounds: Number(values.rounds), seconds: Number(values.seconds) }
}

async function measure(folder: string, closeLater: (close: () => unknown) => void) {
  const { gateway: checkout, rounds, seconds, profile } = readCommand()
  const place = { folder, closeLater }
  if (profile !== undefined) mkdirSync(profile, { recursive: true })
  const upstream = await startUpstream(place)
  const longUrl = `${upstream.url}${MEGABYTE_PATH}`
  const gatewayRoot = resolve(checkout)
  const stores = await openStores(place, { url: upstream.url, longUrl }, gatewayRoot)
  const callers = await stores.createCallers(WALLETS)
  const gateway = await startGateway(place, stores, { root: gatewayRoot, profileFolder: profile && resolve(profile) })
  const bare = await startBareProxy(place, upstream.url)

  const paid: Contender = { ...gateway, requests: callers.map(({ token }) => paidRequest(token)) }
  const proxied: Contender = { ...bare, requests: [rpcRequest] }
  const warmUp = { connections: CONNECTIONS, seconds: WARM_UP_SECONDS, folder }
  await loadByWrk(paid, warmUp)
  await loadByWrk(proxied, warmUp)
  const options = { connections: CONNECTIONS, seconds, folder }
  const samples = await interleave(
    { rounds, progress: (line) => void process.stderr.write(`· ${line}\n`) },
    {
      tollgate: () => loadGateway(stores, paid, options),
      bare: async () => ({ ...(await loadByWrk(proxied, options)), walBytesPerCall: 0, redisCommandsPerCall: 0 }),
    },
    ({ callsPerSecond, cpuSeconds }) => `${Math.round(callsPerSecond)}/s, ${cpuSeconds.toFixed(3)} CPU s`,
  )
  await gateway.stop()

  const { tollgate } = samples
  const rate = medianOf(tollgate, (sample) => sample.callsPerSecond)
  const bareRate = medianOf(samples.bare, (sample) => sample.callsPerSecond)
  const print = (name: string, value: number, digits: number) =>
    process.stdout.write(`${name.padEnd(44)}${value.toFixed(digits)}\n`)
  print('tollgate calls/s', rate, 0)
  print('tollgate p50 ms', medianOf(tollgate, (sample) => sample.p50Ms), 1)
  print('tollgate p99 ms', medianOf(tollgate, (sample) => sample.p99Ms), 1)
  print('tollgate gateway CPU s per 1,000 calls', medianOf(tollgate, (sample) => sample.cpuSeconds), 4)
  print('tollgate Postgres CPU s per 1,000 calls', medianOf(tollgate, ({ others }) => others['postgres'] ?? 0), 4)
  print('tollgate Redis CPU s per 1,000 calls', medianOf(tollgate, ({ others }) => others['redis'] ?? 0), 4)
  print('tollgate WAL bytes per call', medianOf(tollgate, (sample) => sample.walBytesPerCall), 0)
  print('tollgate Redis commands per call', medianOf(tollgate, (sample) => sample.redisCommandsPerCall), 3)
  print('bare proxy calls/s', bareRate, 0)
  print('bare proxy p99 ms', medianOf(samples.bare, (sample) => sample.p99Ms), 1)
  print('bare proxy CPU s per 1,000 calls', medianOf(samples.bare, (sample) => sample.cpuSeconds), 4)
  print('ratio', rate / bareRate, 3)
  const answers = tollgate.reduce((sum, sample) => sum + sample.answers, 0)
  const [rows, violations] = [await stores.usageRows(), await stores.findViolations()]
  if (rows < answers || violations.length > 0)
    throw new Error(`${answers} answers, ${rows} usage rows; ${violations.join(', ')}`)
}

async function main() {
  if (readCommand().help) return void process.stdout.write(HELP)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    await measure(folder, (close) => closing.push(close))
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`paid-path: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.exit(1)
  },
)
