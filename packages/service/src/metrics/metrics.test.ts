import { type Response } from 'express'
import { EventEmitter, once } from 'node:events'
import { openEphemeralStore } from '../ephemeral'
import { readableLog } from '../testing/log'
import { hasRedisServer, startRedisServer, stopRedisServers } from '../testing/redis'
import { serve, stopServing } from '../testing/serve'
import { createMetrics } from './metrics'
import { exportPool } from './postgres-pool'

afterEach(stopServing)
afterAll(stopRedisServers)

test('serves process, HTTP and application metrics on a separate port', async () => {
  const metrics = createMetrics()
  const { port, close } = await metrics.listen({ port: 0, host: '127.0.0.1' })
  const { url } = await serve({
    routes(app) {
      app.get('/calls/:id', (_req, res) => void res.json('served'))
    },
    onStarted: metrics.start,
    onCompleted: metrics.observe,
  })
  const settled = metrics.counter({ name: 'settlements_total', help: 'Settlements', labelNames: ['outcome'] })
  settled.inc({ outcome: 'success' })
  metrics.gauge({
    name: 'queue_length',
    help: 'Calls that wait',
    collect() {
      this.set(7)
    },
  })
  metrics.histogram({ name: 'flush_calls', help: 'Calls in a flush', buckets: [1, 10] }).observe({}, 5)
  await (await fetch(`${url}/calls/1`)).text()
  await (await fetch(`${url}/calls/2`)).text()

  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const text = await response.text()
  expect(response.headers.get('content-type')).toContain('text/plain')
  expect(text).toContain(
    'tollgate_http_request_duration_seconds_count{method="GET",route="/calls/:id",status="200"} 2',
  )
  expect(text).toContain('settlements_total{outcome="success"} 1')
  expect(text).toContain('queue_length 7')
  expect(text).toContain('flush_calls_bucket{le="10"} 1')
  expect(text).toContain('process_cpu_seconds_total')

  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404)
  expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(404)
  await close()
})

describe('a scrape in OpenMetrics', () => {
  const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5'
  let trace: string | undefined

  async function scraped() {
    const metrics = createMetrics({ traceId: () => trace })
    const { port, close } = await metrics.listen({ port: 0, host: '127.0.0.1' })
    const scrape = async (accept: string) => {
      const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { accept } })
      return { type: response.headers.get('content-type'), text: await response.text() }
    }
    return { metrics, scrape, close }
  }
  /** Without those of garbage collections, which appear with the first one. */
  const namesIn = (text: string) =>
    [...new Set([...text.matchAll(/^(?!nodejs_gc_)(\w+)(?:\{|\s)/gm)].map(([, name]) => name))].sort()

  test('has the series of a scrape in the text format, before and after it', async () => {
    const { metrics, scrape, close } = await scraped()
    metrics.counter({ name: 'calls_total', help: 'Calls', labelNames: ['outcome'] }).inc({ outcome: 'paid' })
    metrics.histogram({ name: 'wait_seconds', help: 'Wait' }).observe({}, 0.2)
    const before = await scrape('text/plain')
    const open = await scrape(OPEN_METRICS)
    const after = await scrape('*/*')
    expect(open.type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(open.text.endsWith('# EOF\n')).toBe(true)
    expect(open.text).toContain('# TYPE calls counter')
    expect(open.text).toContain('calls_total{outcome="paid"} 1\n')
    expect(before.text).toContain('# TYPE calls_total counter')
    expect(namesIn(open.text)).toEqual(namesIn(before.text))
    expect(namesIn(after.text)).toEqual(namesIn(before.text))
    await close()
  })

  test('has the trace of an observation if it is sampled, and the text format has not', async () => {
    const { metrics, scrape, close } = await scraped()
    const wait = metrics.histogram({ name: 'wait_seconds', help: 'Wait', buckets: [0.1, 1] })
    trace = '0af7651916cd43dd8448eb211c80319c'
    wait.observe({}, 0.05)
    trace = 'f'.repeat(32)
    metrics.start()
    metrics.observe({ method: 'GET', route: '/', status: 200, seconds: 9, locals: {} })
    trace = undefined
    wait.observe({}, 0.06)
    wait.observe({}, 7)
    const { text } = await scrape(OPEN_METRICS)
    expect(text).toMatch(
      /^wait_seconds_bucket\{le="0\.1"\} 2 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} 0\.05 \d+(\.\d+)?$/m,
    )
    expect(text).toMatch(/^wait_seconds_bucket\{le="1"\} 2$/m)
    expect(text).toMatch(/^wait_seconds_bucket\{le="\+Inf"\} 3$/m)
    expect(text).toMatch(/le="10",method="GET".* 1 # \{trace_id="f{32}"\} 9 /)
    expect((await scrape('text/plain')).text).not.toContain('trace_id')
    await close()
  })
})

test('counts the requests in flight', async () => {
  const metrics = createMetrics()
  const events = new EventEmitter()
  const { url } = await serve({
    routes(app) {
      app.get('/', (_req, res) => void events.emit('arrived', res))
    },
    onStarted: metrics.start,
    onCompleted(request) {
      metrics.observe(request)
      events.emit('completed')
    },
  })
  const arrived = once(events, 'arrived')
  const answered = fetch(url)
  const [response] = (await arrived) as [Response]
  expect(await metrics.register.metrics()).toContain('tollgate_http_requests_in_flight 1')
  const completed = once(events, 'completed')
  response.end()
  await Promise.all([answered, completed])
  expect(await metrics.register.metrics()).toContain('tollgate_http_requests_in_flight 0')
})

const withRedis = hasRedisServer ? test : test.skip
withRedis('measures the commands of Redis and whether it is connected', async () => {
  const server = await startRedisServer()
  const metrics = createMetrics()
  const { logger } = readableLog()
  const store = await openEphemeralStore({ redisUrl: server.url, logger, metrics })
  await store.set('key', 'value', 10)
  expect(await store.get('key')).toBe('value')
  await expect(store.redis?.call('no-such-command')).rejects.toThrow()
  const text = await metrics.register.metrics()
  expect(text).toContain('tollgate_redis_up 1')
  expect(text).toContain('tollgate_redis_command_errors_total 1')
  expect(Number(/duration_seconds_count (\d+)/.exec(text)?.[1])).toBeGreaterThanOrEqual(2)
  const isClosed = new Promise((resolve) => store.redis?.once('close', resolve))
  await server.stop()
  await isClosed
  expect(await metrics.register.metrics()).toContain('tollgate_redis_up 0')
  await store.close()
})

test('exports the connections of a pool', async () => {
  const metrics = createMetrics()
  exportPool(metrics, { totalCount: 5, idleCount: 2, waitingCount: 3, options: { max: 10 } })
  const text = await metrics.register.metrics()
  for (const line of ['connections{state="idle"} 2', 'connections{state="in_use"} 3', 'connections_max 10'])
    expect(text).toContain(`tollgate_postgres_${line}`)
  expect(text).toContain('tollgate_postgres_waiting_queries 3')
})
