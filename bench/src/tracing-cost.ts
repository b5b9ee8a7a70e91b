import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startTraceCollector } from '@tollgate/testing'
import { type Contender, type Load } from './load/load'
import { openRig } from './paid/rig'
import { interleave, median, medianOf } from './rounds'

const HELP = `Usage: node bench/dist/tracing-cost.js [--before FOLDER] [--rounds N] [--seconds N]

Loads gateways with paid calls in turn: without traces, with traces of 1 % of the calls, and of all. Prints the CPU seconds of each
per 1,000 calls, and the median of its ratios to the gateway without traces in the same round.

  --before FOLDER  a built checkout whose gateway is measured too
  --rounds N       rounds (10)
  --seconds N      of each gateway in each round (4)
  --help           this text
`

const CONNECTIONS = 64
const WALLETS = 64
const WARM_UP_SECONDS = 12

const progress = (line: string) => void process.stderr.write(`· ${line}\n`)

type Place = { folder: string; closeLater: (close: () => unknown) => void }

async function measure(place: Place, { before, rounds, seconds }: { before: string | undefined } & Rounds) {
  const { folder } = place
  const rig = await openRig(place, { wallets: WALLETS })
  const collector = await startTraceCollector()
  const traced = (ratio: string) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER_ARG: ratio,
  })
  const variants = {
    off: { variables: {} },
    ...(before === undefined ? {} : { before: { checkout: resolve(before) } }),
    'off again': { variables: {} },
    '1 %': { variables: traced('0.01') },
    all: { variables: traced('1') },
  }
  const contenders: Record<string, () => Promise<Load>> = {}
  for (const [name, options] of Object.entries(variants)) {
    const gateway = await rig.startGateway({ name: `gateway ${name}`, ...options })
    const paid: Contender = { ...gateway, requests: rig.requests() }
    await rig.load(paid, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS, folder })
    contenders[name] = () => rig.load(paid, { connections: CONNECTIONS, seconds, folder })
  }
  const samples = await interleave(
    { rounds, progress },
    contenders,
    ({ callsPerSecond, cpuSeconds }) => `${Math.round(callsPerSecond)}/s, ${cpuSeconds.toFixed(4)} CPU s`,
  )
  await rig.audit()
  print(samples)
  process.stdout.write(`${collector.spans.length} spans were exported\n`)
}

type Rounds = { rounds: number; seconds: number }

function print(samples: Record<string, Load[]>) {
  const off = samples['off'] ?? []
  for (const [name, loads] of Object.entries(samples)) {
    const ratios = loads.map(({ cpuSeconds }, round) => cpuSeconds / (off[round]?.cpuSeconds ?? Number.NaN))
    const cpu = medianOf(loads, ({ cpuSeconds }) => cpuSeconds).toFixed(4)
    const spread = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(3)).join(' to ')
    process.stdout.write(
      `${name.padEnd(12)}${cpu} CPU s per 1,000 calls, ratio ${median(ratios).toFixed(3)} (${spread})\n`,
    )
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      before: { type: 'string' },
      rounds: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '4' },
      help: { type: 'boolean', default: false },
    },
  })
  const { before, rounds, seconds, help } = values
  if (help) return void process.stdout.write(HELP)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const place = { folder, closeLater: (close: () => unknown) => void closing.push(close) }
  try {
    await measure(place, { before, rounds: Number(rounds), seconds: Number(seconds) })
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
