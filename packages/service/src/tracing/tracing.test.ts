import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { z } from 'zod'
import { readEnvironment } from '../config'
import { readableLog } from '../testing/log'
import { serve, stopServing } from '../testing/serve'
import { startTraceReceiver, type ReceivedSpan } from '../testing/trace-receiver'
import { createSampling } from './sampling'
import { activeTraceId, callWithActiveSpan, traced } from './span'
import { openTracing, type Tracing } from './tracing'
import { parseTraceparent } from './traceparent'
import { tracingVariables } from './variables'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const SAMPLED = `00-${TRACE}-${PARENT}-01`

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await stopServing()
  for (const close of closers.splice(0).reverse()) await close()
})

const read = (variables: Record<string, string>) => readEnvironment(z.object(tracingVariables), variables)

async function receiver(...given: Parameters<typeof startTraceReceiver>) {
  const started = await startTraceReceiver(...given)
  closers.push(() => started.close())
  return started
}

async function open(
  variables: Record<string, string>,
  options: { random?: () => number } = {},
): Promise<Tracing> {
  const tracing = await openTracing(read(variables), {
    service: 'test',
    logger: readableLog().logger,
    ...options,
  })
  closers.push(() => tracing.close())
  return tracing
}

const all = (url: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_TRACES_SAMPLER: 'parentbased_always_on',
})
const raise = (message: string): never => {
  throw new Error(message)
}
const attributesOf = ({ attributes }: ReceivedSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

describe('the variables', () => {
  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'expected an address'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key', 'expected name=value pairs'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key=%zz', 'expected name=value pairs'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key=a%0d%0ab', 'expected name=value pairs'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'expected http/json'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '0', 'expected milliseconds'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'expected one of always_on'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'expected a ratio'],
    ['OTEL_TRACES_SAMPLER_ARG', '1%', 'expected a ratio'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=b,', 'expected key=value pairs'],
    ['TRACES_FORCED_PER_MINUTE', '-1', 'expected a whole number'],
  ])('%s=%s is refused', (name, value, problem) => {
    expect(() => read({ [name]: value })).toThrow(`${name}: ${problem}`)
  })

  test('are those of OpenTelemetry: the more specific one counts, and values are percent-encoded', async () => {
    const { url, requests, resources } = await receiver()
    const tracing = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/in/traces`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=general,x-other=one%20two',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-key=own',
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_SERVICE_NAME: 'my gateway',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=not this,deployment.environment=test%2Deast',
    })
    tracing.accept({})?.end()
    await tracing.close()
    expect(requests).toMatchObject([
      { path: '/in/traces', headers: { 'x-key': 'own', 'x-other': 'one two' } },
    ])
    expect(JSON.stringify(resources())).toMatch(/"service.name","value":\{"stringValue":"my gateway"/)
    expect(JSON.stringify(resources())).toMatch(
      /"deployment.environment","value":\{"stringValue":"test-east"/,
    )
  })
})

describe('without an endpoint', () => {
  test.each([{}, { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }])(
    'nothing is traced: %j',
    async (variables) => {
      const tracing = await open({ ...variables, OTEL_TRACES_SAMPLER: 'always_on' })
      expect(tracing.accept({ traceparent: SAMPLED })).toBeUndefined()
      expect(tracing.resume(SAMPLED)).toBeUndefined()
      expect(tracing.headersOf(undefined)).toEqual({})
    },
  )

  test('the SDK is not loaded; with one it is', () => {
    const program = `
      const { openTracing } = require(${JSON.stringify(join(__dirname, '../../dist/index.js'))})
      const environment = process.argv[1] ? { OTEL_EXPORTER_OTLP_ENDPOINT: process.argv[1] } : {}
      const logger = { info() {} }
      openTracing({ ...environment, TRACES_FORCED_PER_MINUTE: 60 }, { service: 'test', logger }).then(() =>
        console.log(Object.keys(require.cache).filter((path) => path.includes('/@opentelemetry/sdk-trace/')).length > 0))`
    const isLoaded = (...given: string[]) =>
      spawnSync(process.execPath, ['-e', program, ...given], { encoding: 'utf8' }).stdout.trim()
    expect([isLoaded(), isLoaded('http://127.0.0.1:1')]).toEqual(['false', 'true'])
  })
})

describe('sampling', () => {
  const clock = (startMs = 0) => {
    let time = startMs
    return { monotonicMs: () => time, advance: (ms: number) => (time += ms) }
  }
  const parent = (isSampled: boolean) => ({ traceId: TRACE, spanId: PARENT, isSampled })
  const settings = { ratio: 0.01, followsParent: true, forcedPerMinute: 60 }

  test('draws for traces that begin here', () => {
    const draws = [0.0099, 0.01, 0.5]
    const isSampled = createSampling(settings, { random: () => draws.shift() ?? 1, ...clock() })
    expect([isSampled(undefined), isSampled(undefined), isSampled(undefined)]).toEqual([true, false, false])
  })

  test('never samples a request whose caller does not', () => {
    const isSampled = createSampling(settings, { random: () => 0, ...clock() })
    expect(isSampled(parent(false))).toBe(false)
  })

  test('of callers that ask for it, the limit of a minute is sampled, and of the others the ratio', () => {
    const time = clock()
    let draw = 1
    const isSampled = createSampling(settings, { random: () => draw, ...time })
    const flood = () => Array.from({ length: 10_000 }, () => isSampled(parent(true))).filter(Boolean).length
    expect(flood()).toBe(60)
    time.advance(1_000)
    expect(flood()).toBe(1)
    time.advance(3_600_000)
    expect(flood()).toBe(60)
    draw = 0
    expect(flood()).toBe(10_000)
  })

  test('without a parent-based sampler callers decide nothing', () => {
    const isSampled = createSampling({ ...settings, followsParent: false }, { random: () => 0.5, ...clock() })
    expect([isSampled(parent(true)), isSampled(parent(false))]).toEqual([false, false])
  })
})

test.each([
  ['', undefined],
  ['00', undefined],
  [`00-${TRACE}-${PARENT}`, undefined],
  [`00-${TRACE}-${PARENT}-01-more`, undefined],
  [`01-${TRACE}-${PARENT}-01-more`, true],
  [`01-${TRACE}-${PARENT}-01${'x'.repeat(10)}`, undefined],
  [`ff-${TRACE}-${PARENT}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-${PARENT}-01`, undefined],
  [`00-${'0'.repeat(32)}-${PARENT}-01`, undefined],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
  [`01-${TRACE}-${PARENT}-01-${'x'.repeat(1_000)}`, undefined],
  [`${SAMPLED}\n`, undefined],
  [`00-${TRACE}-${PARENT}-00`, false],
  [`00-${TRACE}-${PARENT}-03`, true],
  [SAMPLED, true],
])('of a traceparent %j it is read whether it is sampled: %j', (header, isSampled) => {
  expect(parseTraceparent(header)?.isSampled).toBe(isSampled)
})

describe('a request', () => {
  const routes: Parameters<typeof serve>[0]['routes'] = (app) => {
    app.get('/calls/:secret', (_req, res) => void res.json({}))
    app.get('/broken', () => {
      throw new Error('of this secret text')
    })
  }

  test('continues the trace of its caller, by its route, and its log line has the trace id', async () => {
    const { url, spans, requests } = await receiver()
    const tracing = await open(all(url))
    const completed: (string | undefined)[] = []
    const service = await serve({ routes, tracing, onCompleted: () => completed.push(activeTraceId()) })
    const headers = { traceparent: SAMPLED, tracestate: 'vendor=1', authorization: 'Bearer a-secret-token' }
    await fetch(`${service.url}/calls/a-secret-path?key=a-secret-key`, { headers })
    const line = await service.log.line('request')
    await tracing.close()

    expect(line.traceId).toBe(TRACE)
    expect(completed).toEqual([TRACE])
    expect(activeTraceId()).toBeUndefined()
    const [span] = spans()
    expect(span).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, traceState: 'vendor=1', kind: 2 })
    expect(span?.name).toBe('GET /calls/:secret')
    expect(attributesOf(span!)).toEqual({
      'http.request.method': 'GET',
      'http.route': '/calls/:secret',
      'http.response.status_code': 200,
      'tollgate.request_id': line.requestId,
    })
    expect(requests.map(({ text }) => text).join()).not.toContain('secret-')
  })

  test('that fails has an error, without its text; its error line has the trace id too', async () => {
    const { url, spans, requests } = await receiver()
    const tracing = await open(all(url))
    const service = await serve({ routes, tracing })
    await fetch(`${service.url}/broken`, { headers: { traceparent: SAMPLED } })
    expect((await service.log.line('request failed')).traceId).toBe(TRACE)
    await service.log.line('request')
    await tracing.close()
    expect(attributesOf(spans()[0]!)).toMatchObject({ 'error.type': 'INTERNAL_ERROR' })
    expect(spans()[0]?.status).toEqual({ code: 2 })
    expect(requests[0]?.text).not.toContain('of this secret text')
  })

  test('with a malformed traceparent or a long tracestate is served, in a trace of its own', async () => {
    const { url, spans } = await receiver()
    const tracing = await open(all(url))
    const service = await serve({ routes, tracing })
    for (const headers of [
      { traceparent: 'garbage' },
      { traceparent: SAMPLED, tracestate: `a=${'1'.repeat(600)}` },
    ])
      expect((await fetch(`${service.url}/calls/1`, { headers })).status).toBe(200)
    await service.log.flushed()
    await tracing.close()
    const [own, joined] = spans()
    expect(own?.parentSpanId).toBeUndefined()
    expect(own?.traceId).not.toBe(TRACE)
    expect(joined).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
    expect(joined?.traceState).toBeUndefined()
  })

  test('that is not sampled exports nothing, and its log line has no trace id', async () => {
    const { url, requests } = await receiver()
    const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, { random: () => 0.02 })
    const service = await serve({ routes, tracing })
    await fetch(`${service.url}/calls/1`)
    await fetch(`${service.url}/calls/1`, { headers: { traceparent: SAMPLED.replace(/1$/, '0') } })
    expect(await service.log.line('request')).not.toHaveProperty('traceId')
    await tracing.close()
    expect(requests).toEqual([])
  })
})

describe('a collector', () => {
  const routes: Parameters<typeof serve>[0]['routes'] = (app) =>
    void app.get('/', (_req, res) => res.json({}))

  test.each([
    ['that is away', () => undefined],
    ['that refuses', (res: { writeHead(status: number): { end(): void } }) => res.writeHead(500).end()],
    ['that never answers', () => undefined],
  ] as const)(
    '%s delays no request, and the end of the process by seconds at most',
    async (what, respond) => {
      const collector = await receiver(respond)
      const url = what === 'that is away' ? 'http://127.0.0.1:1' : collector.url
      const tracing = await open(all(url))
      const service = await serve({ routes, tracing })
      const statuses = await Promise.all(
        Array.from({ length: 100 }, async () => (await fetch(service.url)).status),
      )
      expect(new Set(statuses)).toEqual(new Set([200]))
      const startedAt = performance.now()
      await tracing.close()
      expect(performance.now() - startedAt).toBeLessThan(10_000)
    },
    30_000,
  )

  test('that is away is in the log once a minute', async () => {
    const log = readableLog()
    const away = { ...all('http://127.0.0.1:1'), OTEL_EXPORTER_OTLP_TIMEOUT: '100' }
    const tracing = await openTracing(read(away), { service: 'test', logger: log.logger })
    for (let count = 0; count < 1_000; count++) tracing.accept({})?.end()
    await tracing.close()
    await log.flushed()
    const warned = log.lines().filter(({ message }) => message === 'trace export failed')
    expect(warned).toMatchObject([{ level: 'warn', spans: 512 }])
  })

  test('that is slower than the requests fills no memory: spans beyond the queue are dropped', async () => {
    const { url, spans } = await receiver()
    const tracing = await open(all(url))
    for (let count = 0; count < 10_000; count++) tracing.accept({})?.end()
    await tracing.close()
    expect(spans().length).toBeGreaterThan(2_000)
    expect(spans().length).toBeLessThan(3_000)
  })
})

describe('steps', () => {
  test('are children; one that fails says by which class of error only', async () => {
    const { url, spans } = await receiver()
    const tracing = await open(all(url))
    const root = tracing.accept({})
    await traced(root, 'outer', {}, (outer) =>
      traced(outer, 'inner', { kind: 'client' }, () => Promise.reject(new TypeError('a secret'))),
    ).catch(() => undefined)
    root?.end()
    await tracing.close()
    const [inner, outer, request] = spans()
    expect([inner?.parentSpanId, outer?.parentSpanId]).toEqual([outer?.spanId, request?.spanId])
    expect(attributesOf(inner!)).toEqual({ 'error.type': 'TypeError' })
  })

  test('continue a stored trace, in another process too', async () => {
    const { url, spans } = await receiver()
    const tracing = await open(all(url))
    tracing.resume(SAMPLED)?.child('later').end()
    for (const none of [null, undefined, 'garbage', SAMPLED.replace(/1$/, '0')])
      expect(tracing.resume(none)).toBeUndefined()
    await tracing.close()
    expect(spans()).toMatchObject([{ traceId: TRACE, parentSpanId: PARENT, name: 'later' }])
  })

  test('the active one is found by what they call, and by nothing else', async () => {
    const { url } = await receiver()
    const tracing = await open(all(url))
    const [one, other] = [tracing.accept({}), tracing.accept({})]
    const seen = callWithActiveSpan(one, () => [
      activeTraceId(),
      callWithActiveSpan(other, activeTraceId),
      callWithActiveSpan(undefined, activeTraceId),
      activeTraceId(),
    ])
    expect(seen).toEqual([one?.traceId, other?.traceId, one?.traceId, one?.traceId])
    const fail = () => callWithActiveSpan(one, () => raise('failed'))
    expect(fail).toThrow('failed')
    expect(activeTraceId()).toBeUndefined()
    const after = callWithActiveSpan(one, () => Promise.resolve().then(activeTraceId))
    expect(await after).toBeUndefined()
  })

  test('another service of ours begins no trace of its own for a request that is not sampled', async () => {
    const { url } = await receiver()
    const tracing = await open(all(url))
    const header = tracing.headersOf(undefined).traceparent
    expect(parseTraceparent(header)).toMatchObject({ isSampled: false })
    expect(tracing.accept({ traceparent: header })).toBeUndefined()
    const span = tracing.accept({})
    expect(tracing.headersOf(span)).toEqual({ traceparent: span?.traceparent })
  })
})
