import { activeTraceId, createMetrics } from '@tollgate/service'
import { pathOf, startTraceCollector, type CollectedSpan, type TraceCollector } from '@tollgate/testing'
import { randomBytes } from 'node:crypto'
import { planOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { paymentHeader, signPayment } from '../testing/payment'
import { blockNumber } from '../testing/plain'
import { answers, startUpstream } from '../testing/upstream'
import { createCall } from '../testing/wallet'

const PARENT = 'b7ad6b7169203331'
let traces = 0
const newTrace = () => {
  const traceId = `${++traces}`.padStart(32, '0')
  return { traceId, traceparent: `00-${traceId}-${PARENT}-01` }
}

const metrics = createMetrics({ traceId: activeTraceId })
let collector: TraceCollector
let gateway: TestGateway
let beside: TestGateway
beforeAll(async () => {
  collector = await startTraceCollector()
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: 0 }
  gateway = await testGateway({ metrics, environment: { ...traced, TRACES_FORCED_PER_MINUTE: 1_000 } })
  beside = await testGateway({
    beside: gateway,
    environment: { ...traced, TRACES_FORCED_PER_MINUTE: 1_000, TRACE_UPSTREAMS: true },
  })
})
afterAll(() => auditAndClose(gateway, beside))

const pathsOf = (spans: readonly CollectedSpan[]) =>
  spans.map((span) => pathOf(spans, span).join(' > ')).toSorted()

async function customer(at = gateway) {
  const wallet = at.wallet()
  await at.fund(wallet.address, 10)
  return wallet.signIn()
}

test('a call has a step for its credits, and one for each upstream that it went to', async () => {
  const broken = await startUpstream(answers.status(503))
  const upstream = await startUpstream(answers.result())
  const chain_id = await gateway.chain(
    { provider_id: 'first', rpc: [`${broken.url}/secret-key-in-path`] },
    { provider_id: 'second', rpc: [upstream.url] },
  )
  const { call } = await customer()
  const { traceId, traceparent } = newTrace()
  expect((await call({ chain_id }).set({ traceparent })).status).toBe(200)

  const spans = await collector.until(traceId, 'POST /rpc')
  expect(pathsOf(spans)).toEqual([
    'POST /rpc',
    'POST /rpc > forward call',
    'POST /rpc > forward call > upstream first',
    'POST /rpc > forward call > upstream second',
    'POST /rpc > spend credits',
  ])
  const step = (name: string) => spans.find((span) => span.name === name)
  expect(step('POST /rpc')).toMatchObject({ parentId: PARENT, service: 'tollgate-gateway' })
  expect(step('spend credits')?.attributes).toEqual({ 'tollgate.credits': 1, 'tollgate.outcome': 'paid' })
  expect(step('upstream first')?.isFailed).toBe(true)
  expect(step('upstream second')?.attributes).toMatchObject({
    'tollgate.provider': 'second',
    'http.response.status_code': 200,
  })
  expect(collector.text()).not.toContain('secret-key-in-path')
  const { port, close } = await metrics.listen({ port: 0, host: '127.0.0.1' })
  const headers = { accept: 'application/openmetrics-text' }
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text()
  await close()
  expect(text).toMatch(
    new RegExp(`upstream_duration_seconds_bucket.*provider="second".* # \\{trace_id="${traceId}"\\}`),
  )
})

test('an upstream gets no trace headers, whatever the caller sends; it gets our own if the operator wants so', async () => {
  const upstream = await startUpstream(answers.result())
  const chain_id = await gateway.chain(upstream.url)
  const { token } = await customer()
  const { traceId, traceparent } = newTrace()
  const headers = { traceparent, tracestate: 'vendor=1', baggage: 'a=b' }
  for (const at of [gateway, beside]) {
    await createCall(at.api, token)({ chain_id }).set(headers).expect(200)
  }
  const [without, withTrace] = upstream.requests.map((request) => request.headers)
  for (const name of ['traceparent', 'tracestate', 'baggage']) expect(without).not.toHaveProperty(name)
  const spans = await collector.until(traceId, 'upstream provider-0', 'upstream provider-0')
  const ids = spans.filter(({ name }) => name === 'upstream provider-0').map(({ spanId }) => spanId)
  expect(ids.map((id) => `00-${traceId}-${id}-01`)).toContain(withTrace?.traceparent)
  for (const name of ['tracestate', 'baggage']) expect(withTrace).not.toHaveProperty(name)
})

test('a call that is not sampled exports nothing', async () => {
  const { call } = await customer()
  const { call: sampledCall } = await customer()
  const { traceId, traceparent } = newTrace()
  const before = collector.spans.length
  for (const header of [{}, { traceparent: traceparent.replace(/1$/, '0') }, { traceparent: 'malformed' }])
    expect((await call().set(header)).status).toBe(200)
  const sampled = newTrace()
  await sampledCall().set({ traceparent: sampled.traceparent })
  await collector.until(sampled.traceId, 'POST /rpc')
  expect(collector.ofTrace(traceId)).toEqual([])
  expect(new Set(collector.spans.slice(before).map((span) => span.traceId))).toEqual(
    new Set([sampled.traceId]),
  )
})

test('a payment continues its trace at the facilitator, after a restart, and where it serves a call', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const payment = await wallet.pay()
  const { traceId, traceparent } = newTrace()
  gateway.facilitator.next('pending')
  expect((await call({ payment }).set({ traceparent })).status).toBe(503)
  const { rows } = await gateway.pool.query<{ id: string; traceparent: string }>(
    'SELECT id, traceparent FROM payments WHERE wallet = $1',
    [wallet.address],
  )
  const [first] = gateway.facilitator.traceparents.splice(0)
  await gateway.pool.query('UPDATE payments SET next_attempt_at = now() WHERE id = $1', [rows[0]?.id])
  await beside.reconcile()
  const [second] = gateway.facilitator.traceparents.splice(0)
  expect((await call({ payment })).status).toBe(200)

  const spans = await collector.until(
    traceId,
    'settle payment',
    'settle payment',
    'grant credits',
    'forward call',
  )
  expect(pathsOf(spans)).toEqual([
    'POST /rpc',
    'POST /rpc > buy credits',
    'POST /rpc > buy credits > record payment',
    'POST /rpc > buy credits > record payment > forward call',
    'POST /rpc > buy credits > record payment > forward call > upstream provider-84532',
    'POST /rpc > buy credits > record payment > grant credits',
    'POST /rpc > buy credits > record payment > settle payment',
    'POST /rpc > buy credits > record payment > settle payment',
    'POST /rpc > buy credits > record payment > spend credits',
  ])
  const settling = spans.filter(({ name }) => name === 'settle payment')
  expect(settling.map((span) => `00-${traceId}-${span.spanId}-01`)).toEqual([first, second])
  expect(settling.map(({ attributes }) => attributes['tollgate.outcome'])).toEqual([
    'settlement_pending',
    'settled',
  ])
  const linesOfPayment = gateway.log.lines().filter(({ paymentId }) => paymentId === rows[0]?.id)
  expect(new Set(linesOfPayment.map((line) => line.traceId))).toEqual(new Set([traceId]))
  expect(linesOfPayment.length).toBeGreaterThan(0)
  expect(collector.text()).not.toContain(payment)
})

test('a payment continues its trace for one call, so that repeats of it are not sampled', async () => {
  const { traceId, traceparent } = newTrace()
  const { call } = await gateway.wallet().signIn()
  const wallet = gateway.wallet()
  const session = await wallet.signIn()
  const inSession = await wallet.pay()
  expect((await session.call({ payment: inSession }).set({ traceparent })).status).toBe(200)
  const headers = { 'x-payment': await gateway.wallet().pay(), traceparent }
  const callByPayment = (own: Record<string, string>) =>
    gateway.api.post('/v1/84532').set(own).send(blockNumber)
  await callByPayment(headers).expect(200)

  gateway.facilitator.traceparents.splice(0)

  for (let repeats = 0; repeats < 10; repeats++) {
    expect((await session.call({ payment: inSession })).status).toBe(200)
    await callByPayment({ 'x-payment': headers['x-payment'] }).expect(402)
  }
  const last = newTrace()
  expect((await call().set({ traceparent: last.traceparent })).status).toBe(402)
  await collector.until(last.traceId, 'POST /rpc')
  // Exported in the order of their ends, so all spans of the repeats have arrived.
  const forwarded = collector.ofTrace(traceId).filter(({ name }) => name === 'forward call')
  expect(forwarded).toHaveLength(2)
})

test('a payment that the facilitator verifies first is in the same trace there', async () => {
  const { signer, address } = gateway.wallet()
  const { pay_to: payTo, amount } = planOf()
  const { authorization } = await signPayment(signer, { payTo, amount })
  // As a contract signs, so that only the chain can tell whether it is valid.
  const signature = `0x${randomBytes(64).toString('hex')}1b`
  gateway.facilitator.contractWallets.add(address)
  const { traceId, traceparent } = newTrace()
  const headers = { 'x-payment': paymentHeader({ signature, authorization }), traceparent }
  await gateway.api.post('/v1/84532').set(headers).send(blockNumber).expect(200)
  const spans = await collector.until(traceId, 'verify payment', 'settle payment')
  const sent = ['verify payment', 'settle payment'].map((name) => {
    const span = spans.find((one) => one.name === name)
    return `00-${traceId}-${span?.spanId}-01`
  })
  expect(gateway.facilitator.traceparents.splice(0)).toEqual(sent)
})

test('a payment that came without a trace is in that of the request which continues it', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const payment = await wallet.pay()
  gateway.facilitator.next('pending')
  expect((await call({ payment })).status).toBe(503)
  await gateway.pool.query('UPDATE payments SET next_attempt_at = now() WHERE wallet = $1', [wallet.address])
  const { traceId, traceparent } = newTrace()
  expect((await call({ payment }).set({ traceparent })).status).toBe(200)
  const spans = await collector.until(traceId, 'settle payment', 'grant credits')
  const settling = spans.find(({ name }) => name === 'settle payment')
  expect(gateway.facilitator.traceparents.splice(0)).toEqual([
    expect.stringMatching(/-00$/),
    `00-${traceId}-${settling?.spanId}-01`,
  ])
})

test('the facilitator begins no trace for a payment that is not sampled', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  expect((await call({ payment: await wallet.pay() })).status).toBe(200)
  expect(gateway.facilitator.traceparents.splice(0)).toEqual([expect.stringMatching(/-00$/)])
})
