/** A load generator in a process of its own: reads its plan from a file, and prints the result as JSON. */
import { readFileSync } from 'node:fs'
import { type Dispatcher, Pool } from 'undici'
import { type GeneratorPlan, type GeneratorResult } from './generate'

const RESPONSE_TIMEOUT_MS = 15_000
/** Latencies of an open loop are not counted before: its connections open, and this process warms up. */
const OPEN_LOOP_WARM_UP_MS = 1_000

const { requests, connections, until, ratePerSecond } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
) as GeneratorPlan

const openPool = (url: string) =>
  new Pool(url, {
    connections,
    pipelining: 1,
    headersTimeout: RESPONSE_TIMEOUT_MS,
    bodyTimeout: RESPONSE_TIMEOUT_MS,
  })
const pools = new Map([...new Set(requests.map(({ url }) => url))].map((url) => [url, openPool(url)]))

const dispatches = requests.map(({ url, path, headers, body }) => {
  const options: Dispatcher.DispatchOptions = { path, method: 'POST', headers: { ...headers }, body }
  return (handler: Dispatcher.DispatchHandler) => pools.get(url)?.dispatch(options, handler)
})
const latencies: number[] = []
const statuses: Record<string, number> = {}
let sent = 0
let countedFrom = 0

/** `startedAt`: when the call was planned, in an open loop. */
function call(startedAt: number, onEnd: () => void) {
  const dispatch = dispatches[sent++ % dispatches.length]
  if (!dispatch) throw new Error('The plan has no requests')
  let status = ''
  const end = (outcome: string) => {
    statuses[outcome] = (statuses[outcome] ?? 0) + 1
    if (startedAt >= countedFrom) latencies.push(performance.now() - startedAt)
    onEnd()
  }
  dispatch({
    onRequestStart: () => undefined,
    onResponseStart: (_controller, statusCode) => void (status = String(statusCode)),
    onResponseData: () => undefined,
    onResponseEnd: () => end(status),
    onResponseError: (_controller, error) => end(codeOf(error)),
  })
}

const codeOf = (error: Error) => ('code' in error ? String(error.code) : error.name)

/** Each connection sends its next request when it has the answer. */
function runClosedLoop(): Promise<unknown> {
  const isOver = endCondition(performance.now())
  const lane = () =>
    new Promise<void>((resolve) => {
      const next = () => (isOver() ? resolve() : call(performance.now(), next))
      next()
    })
  return Promise.all(Array.from({ length: connections }, lane))
}

/** Calls start at a constant rate, whether earlier ones are answered or not. */
function runOpenLoop(rate: number): Promise<void> {
  const startedAt = performance.now()
  countedFrom = startedAt + OPEN_LOOP_WARM_UP_MS
  const isOver = endCondition(startedAt)
  let pending = 0
  return new Promise((resolve) => {
    const onEnd = () => {
      if (--pending === 0 && isOver()) resolve()
    }
    const sendDue = () => {
      const now = performance.now()
      for (;;) {
        const plannedAt = startedAt + (1000 * sent) / rate
        if (plannedAt > now || isOver()) break
        pending++
        call(plannedAt, onEnd)
      }
      if (!isOver()) setTimeout(sendDue, 1)
      else if (pending === 0) resolve()
    }
    sendDue()
  })
}

function endCondition(startedAt: number): () => boolean {
  if ('calls' in until) return () => sent >= until.calls
  const end = startedAt + 1000 * until.seconds
  return () => performance.now() >= end
}

async function main() {
  const startedAt = performance.now()
  await (ratePerSecond === undefined ? runClosedLoop() : runOpenLoop(ratePerSecond))
  const seconds = (performance.now() - startedAt) / 1000
  latencies.sort((one, other) => one - other)
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN
  const result: GeneratorResult = {
    answers: Object.values(statuses).reduce((sum, count) => sum + count, 0),
    seconds,
    statuses,
    latencyMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

void main().then(() => process.exit(0))
