import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startTraceCollector } from '@tollgate/testing'
import { openPaymentChain, type PaymentChain } from './facilitators/chain'
import { type Contender } from './facilitators/contender'
import { sendAll } from './facilitators/load'
import { startTollgate } from './facilitators/tollgate'
import { openRig } from './paid/rig'
import { threadCpuSeconds } from './processes'
import { interleave, median, medianInterval, medianOf } from './rounds'

const HELP = `Usage: node bench/dist/tracing-cost.js [gateway|verify|settle] [--before FOLDER] [--rounds N] [--seconds N]
                                    [--requests N]

Loads services in turn: without traces, with traces of 1 % of the requests, and of all. Prints the CPU seconds of each per 1,000
requests with the exports that follow them, and the median of its ratios to the service without traces in the same round, with a 95 %
confidence interval of that median.

  gateway          gateways with paid calls (default)
  verify, settle   facilitators with /verify, without its cache, or /settle
  --before FOLDER  a built checkout whose gateway is measured too
  --rounds N       rounds (10)
  --seconds N      of each gateway in each round (4)
  --requests N     to each facilitator in each round (500)
  --help           this text
`

const CONNECTIONS = 64
const WALLETS = 64
const WARM_UP_SECONDS = 12
const PAYERS = 100
const WARM_UP_PAYMENTS = 2_000
/** Services export what they queued once a second. */
const EXPORTED_WITHIN_MS = 1_500

const progress = (line: string) => void process.stderr.write(`· ${line}\n`)

type Place = { folder: string; closeLater: (close: () => unknown) => void }
type Options = { before: string | undefined; rounds: number; seconds: number; requests: number }
/** CPU seconds per 1,000 requests. */
type Sample = { perSecond: number; cpuSeconds: number }
type Contenders = Record<string, () => Promise<Sample>>

const traced = (url: string, ratio: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_TRACES_SAMPLER_ARG: ratio,
})

async function openGateways(place: Place, collectorUrl: string, { before, seconds }: Options) {
  const { folder } = place
  const rig = await openRig(place, { wallets: WALLETS })
  const variants = {
    off: { variables: {} },
    ...(before === undefined ? {} : { before: { checkout: resolve(before) } }),
    'off again': { variables: {} },
    '1 %': { variables: traced(collectorUrl, '0.01') },
    all: { variables: traced(collectorUrl, '1') },
  }
  const contenders: Contenders = {}
  for (const [name, options] of Object.entries(variants)) {
    const gateway = await rig.startGateway({ name: `gateway ${name}`, ...options })
    const paid = { ...gateway, requests: rig.requests() }
    const load = async (duration: number) => {
      const options = { connections: CONNECTIONS, seconds: duration, folder }
      const { result, cpuSeconds } = await withExports(gateway.pids, () => rig.load(paid, options))
      return { perSecond: result.callsPerSecond, cpuSeconds: (1000 * cpuSeconds) / result.answers }
    }
    await load(WARM_UP_SECONDS)
    contenders[name] = () => load(seconds)
  }
  return { contenders, audit: () => rig.audit() }
}

async function openFacilitators(
  place: Place,
  collectorUrl: string,
  { path, requests }: { path: '/verify' | '/settle'; requests: number },
) {
  const chain = await openPaymentChain(place, { payers: PAYERS })
  const variants = {
    off: {},
    'off again': {},
    '1 %': traced(collectorUrl, '0.01'),
    all: traced(collectorUrl, '1'),
  }
  const contenders: Contenders = {}
  for (const [name, variables] of Object.entries(variants)) {
    const folder = join(place.folder, name)
    mkdirSync(folder)
    const options = { chain, nodeUrl: chain.rpcUrl }
    const environment = { VERIFICATION_CACHE_TTL_SECONDS: '0', ...variables }
    const contender = await startTollgate({ ...place, folder, progress }, options, environment)
    contenders[name] = () => sendPayments(chain, contender, { path, count: requests })
    await sendPayments(chain, contender, { path, count: WARM_UP_PAYMENTS })
  }
  return { contenders, audit: () => Promise.resolve() }
}

async function sendPayments(
  chain: PaymentChain,
  contender: Contender,
  { path, count }: { path: '/verify' | '/settle'; count: number },
) {
  const bodies = chain.signPayments(count)
  const isRight = (text: string) => /"(isValid|success)":true/.test(text)
  const options = { path, bodies, connections: CONNECTIONS, isRight }
  const { result, cpuSeconds } = await withExports([contender.pid], () => sendAll(contender, options))
  if (result.refused[0] !== undefined) throw new Error(`A payment was refused: ${result.refused[0]}`)
  return { perSecond: count / result.seconds, cpuSeconds: (1000 * cpuSeconds) / count }
}

/** The CPU seconds of a service for `work`, and for the export of its spans. */
async function withExports<Result>(pids: readonly number[], work: () => Promise<Result>) {
  const cpuSeconds = () => pids.reduce((sum, pid) => sum + threadCpuSeconds(pid), 0)
  const before = cpuSeconds()
  const result = await work()
  await delay(EXPORTED_WITHIN_MS)
  return { result, cpuSeconds: cpuSeconds() - before }
}

async function measure(place: Place, what: (typeof SUBJECTS)[number], options: Options) {
  const collector = await startTraceCollector()
  const { contenders, audit } =
    what === 'gateway'
      ? await openGateways(place, collector.url, options)
      : await openFacilitators(place, collector.url, { path: `/${what}`, requests: options.requests })
  const samples = await interleave(
    { rounds: options.rounds, progress },
    contenders,
    ({ perSecond, cpuSeconds }) => `${Math.round(perSecond)}/s, ${cpuSeconds.toFixed(4)} CPU s`,
  )
  await audit()
  print(samples)
  process.stdout.write(`${collector.spans.length} spans were exported\n`)
}

const SUBJECTS = ['gateway', 'verify', 'settle'] as const

function print(samples: Record<string, Sample[]>) {
  const off = samples['off'] ?? []
  for (const [name, loads] of Object.entries(samples)) {
    const ratios = loads.map(({ cpuSeconds }, round) => cpuSeconds / (off[round]?.cpuSeconds ?? Number.NaN))
    const cpu = medianOf(loads, ({ cpuSeconds }) => cpuSeconds).toFixed(4)
    const interval = medianInterval(ratios)?.map((ratio) => ratio.toFixed(3)) ?? ['too few rounds']
    process.stdout.write(
      `${name.padEnd(12)}${cpu} CPU s per 1,000, ratio ${median(ratios).toFixed(3)} (${interval.join(' to ')})\n`,
    )
  }
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      before: { type: 'string' },
      rounds: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '4' },
      requests: { type: 'string', default: '500' },
      help: { type: 'boolean', default: false },
    },
  })
  const { before, help } = values
  const numbers = {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    requests: Number(values.requests),
  }
  if (help) return void process.stdout.write(HELP)
  const [given = 'gateway', ...more] = positionals
  const what = SUBJECTS.find((subject) => subject === given)
  if (what === undefined || more.length > 0) throw new Error(`expected one of ${SUBJECTS.join(', ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const place = { folder, closeLater: (close: () => unknown) => void closing.push(close) }
  try {
    await measure(place, what, { before, ...numbers })
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(
      `tracing-cost: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
    process.exit(1)
  },
)
