import { startAnvil } from '@tollgate/devnet'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { killGateway } from './testing/kill-gateway'
import { call, sign, until } from './testing/paying'
import { queryNode } from './testing/query-node'
import { blockNumberCall, signIn, startWorld, walletAt, type World } from './testing/world'

const HELP = `Usage: node e2e/dist/pending-trace.js --collector URL --jaeger URL
       node e2e/dist/pending-trace.js --jaeger URL --trace ID

Pays for a call on a new development network whose chain mines no block, kills the gateway while the payment is pending, mines a
block and calls again. Exports the trace to the collector, reads it back from Jaeger and prints it. Or prints a trace.

  --collector URL  takes OTLP/HTTP, such as http://127.0.0.1:4318
  --jaeger URL     Jaeger's query service, such as http://127.0.0.1:16686
  --trace ID       of a trace that Jaeger has
  --help           this text
`

type JaegerSpan = {
  spanID: string
  operationName: string
  processID: string
  /** Microseconds. */
  startTime: number
  duration: number
  references: { refType: string; spanID: string }[]
  tags: { key: string; value: string | number | boolean }[]
}
type JaegerTrace = { spans: JaegerSpan[]; processes: Record<string, { serviceName: string }> }

async function readTrace(jaeger: string, id: string): Promise<JaegerTrace | undefined> {
  const answer = await fetch(`${jaeger}/api/traces/${id}`, { signal: AbortSignal.timeout(5_000) })
  return answer.ok ? ((await answer.json()) as { data: JaegerTrace[] }).data[0] : undefined
}

/** Resolves once Jaeger has a span of each name. */
const untilTraced = (jaeger: string, id: string, names: readonly string[]) =>
  until(
    () => readTrace(jaeger, id),
    (trace) => names.every((name) => trace?.spans.some(({ operationName }) => operationName === name)),
    60,
  )

const SHOWN = [
  'tollgate.outcome',
  'tollgate.attempt',
  'http.response.status_code',
  'server.address',
  'error.type',
]

function print({ spans, processes }: JaegerTrace) {
  const beginsAt = Math.min(...spans.map(({ startTime }) => startTime))
  const ids = new Set(spans.map(({ spanID }) => spanID))
  const parentOf = ({ references }: JaegerSpan) =>
    references.find(({ refType, spanID }) => refType === 'CHILD_OF' && ids.has(spanID))?.spanID

  function printChildren(parent: string | undefined, depth: number) {
    const children = spans.filter((span) => parentOf(span) === parent)
    for (const span of children.toSorted((one, other) => one.startTime - other.startTime)) {
      const tags = SHOWN.flatMap((name) => {
        const value = span.tags.find(({ key }) => key === name)?.value
        return value === undefined ? [] : [String(value)]
      })
      const at = `+${((span.startTime - beginsAt) / 1e6).toFixed(3)} s`.padStart(11)
      const duration = `${(span.duration / 1e3).toFixed(1)} ms`.padStart(12)
      const service = (processes[span.processID]?.serviceName ?? '').replace('tollgate-', '').padEnd(11)
      const name = `${'  '.repeat(depth)}${span.operationName}`
      process.stdout.write(`${at} ${duration}  ${service}  ${[name, ...tags].join('  ')}\n`)
      printChildren(span.spanID, depth + 1)
    }
  }
  printChildren(undefined, 0)
}

async function payWhilePending(world: World, { jaeger, traceId }: { jaeger: string; traceId: string }) {
  const { infrastructure } = world
  const buyer = walletAt(0)
  const session = await signIn(world, buyer)
  const payment = await sign(buyer, (await call(world, session)).body)
  await infrastructure.anvil.stop()
  const port = Number(new URL(infrastructure.rpcUrl).port)
  const chain = await startAnvil({ folder: join(world.folder, 'anvil'), port, blockTime: 3_600 })
  infrastructure.anvil.stop = chain.stop

  const pending = await fetch(`${world.gateway.url}/rpc`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${session}`,
      'content-type': 'application/json',
      'x-payment': payment,
      traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01`,
    },
    body: JSON.stringify(blockNumberCall),
  })
  if (pending.status !== 503) throw new Error(`The first call was answered ${pending.status}`)
  await untilTraced(jaeger, traceId, ['POST /rpc', 'broadcast transaction'])
  await killGateway(world)
  await queryNode(infrastructure.rpcUrl, 'evm_mine')
  await until(
    () => call(world, session, payment),
    ({ status }) => status === 200,
  )
  await untilTraced(jaeger, traceId, ['complete settlement', 'grant credits', 'upstream devnet'])
}

async function main() {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: { collector: text, jaeger: text, trace: text, help: { type: 'boolean', default: false } },
  })
  const { collector, jaeger, trace, help } = values
  if (help || jaeger === undefined || (collector === undefined) === (trace === undefined)) {
    process.stdout.write(HELP)
    return help ? 0 : 2
  }
  const traceId = trace ?? randomBytes(16).toString('hex')
  if (collector !== undefined) {
    const environment = () => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
      OTEL_TRACES_SAMPLER_ARG: '0',
      SETTLE_TIMEOUT_SECONDS: '4',
    })
    const world = await startWorld({ overrides: { environment } })
    try {
      await payWhilePending(world, { jaeger, traceId })
    } finally {
      await world.stop()
    }
  }
  const found = await readTrace(jaeger, traceId)
  if (!found) throw new Error(`Jaeger has no trace ${traceId}`)
  process.stdout.write(`trace ${traceId}, ${found.spans.length} spans\n`)
  print(found)
  return 0
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`pending-trace: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  },
)
