import {
  closeAll,
  pathOf,
  startTraceCollector,
  type CollectedSpan,
  type TraceCollector,
} from '@tollgate/testing'
import { newPayer } from '../testing/chain'
import { testFacilitator } from '../testing/facilitator'
import { withManualMining } from '../testing/manual-mining'
import { paymentRequest } from '../testing/payment'

let collector: TraceCollector
beforeAll(async () => void (collector = await startTraceCollector()))
afterAll(closeAll)

let traces = 0
const newTrace = () => {
  const traceId = `${++traces}`.padStart(32, 'f')
  return { traceId, headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } }
}

const traced = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '0' })

const SETTLE = 'POST /api/v1/settle'

/** The steps, without the requests to nodes. */
const stepsOf = (spans: readonly CollectedSpan[]) =>
  spans
    .filter(({ name }) => !name.startsWith('eth_'))
    .map((span) => pathOf(spans, span).join(' > '))
    .toSorted()

test('a settlement is one trace, from the request to the block, also if another replica finishes it', async () => {
  const { rpcUrl, facilitator, settle, mine, log, onTheirWay } = await withManualMining({
    variables: traced(),
  })
  const body = await paymentRequest(await newPayer(rpcUrl))
  const { traceId, headers } = newTrace()
  const cut = settle(body, headers).catch(() => 'cut off')
  await onTheirWay(1)
  await facilitator.close()
  await cut

  const replica = await testFacilitator({ ...facilitator.settings, log: log.stream })
  await mine()
  const spans = await collector.until(traceId, SETTLE, 'complete settlement', 'mine transaction')
  expect(stepsOf(spans)).toEqual([
    SETTLE,
    `${SETTLE} > claim payment`,
    `${SETTLE} > claim payment > broadcast transaction`,
    `${SETTLE} > claim payment > complete settlement`,
    `${SETTLE} > claim payment > mine transaction`,
    `${SETTLE} > claim payment > prepare transaction`,
    `${SETTLE} > claim payment > sign transaction`,
    `${SETTLE} > claim payment > store transaction`,
    `${SETTLE} > claim payment > validate settlement`,
    `${SETTLE} > verify payment`,
  ])
  const requests = spans.filter(({ name }) => name.startsWith('eth_'))
  const paths = requests.map((span) => pathOf(spans, span).slice(-2).join(' > '))
  expect(paths).toContain('broadcast transaction > eth_sendRawTransaction')
  expect(paths).toContain('verify payment > eth_call')
  expect(paths).toContain('prepare transaction > eth_estimateGas')
  expect(new Set(requests.map(({ attributes }) => attributes['server.address']))).toEqual(
    new Set([new URL(rpcUrl).host]),
  )
  const told = ['rpc.system', 'rpc.method', 'server.address', 'error.type']
  const names = requests.flatMap(({ attributes }) => Object.keys(attributes))
  expect(names.filter((name) => !told.includes(name))).toEqual([])
  const { rows } = await replica.database.pool.query<{ hash: string }>('SELECT hash FROM transactions')
  expect(spans.find(({ name }) => name === 'mine transaction')?.attributes).toMatchObject({
    'tollgate.transaction': rows[0]?.hash,
    'tollgate.settlement_id': '1',
  })

  const lines = log.lines().filter(({ settlementId }) => settlementId === '1')
  expect(lines.map(({ message }) => message)).toEqual(
    expect.arrayContaining(['settlement claimed', 'settlement signed', 'settlement settled']),
  )
  expect(new Set(lines.map((line) => line.traceId))).toEqual(new Set([traceId]))
  const { signature } = body.paymentPayload.payload as { signature: string }
  const keys = facilitator.settings.signerKeys.map((key) => key.replace(/^0x/, ''))
  for (const secret of [signature.slice(2), ...keys]) expect(collector.text()).not.toContain(secret)
  await replica.close()
})

test('settlements of one transaction have a step each in their own traces, linked to that of the first', async () => {
  const { rpcUrl, settle, mine, onTheirWay } = await withManualMining({ variables: traced() })
  const bodies = await Promise.all(
    Array.from({ length: 3 }, async () => paymentRequest(await newPayer(rpcUrl))),
  )
  const own = bodies.map(() => newTrace())
  const unsampled = await paymentRequest(await newPayer(rpcUrl))
  const settled = [...bodies.map((body, index) => settle(body, own[index]!.headers)), settle(unsampled)]
  await onTheirWay(4)
  await mine()
  for (const result of await Promise.all(settled)) expect(result.success).toBe(true)

  const of = await Promise.all(
    own.map(({ traceId }) => collector.until(traceId, SETTLE, 'wait for settlement', 'mine transaction')),
  )
  const mined = of.map((spans) => spans.find(({ name }) => name === 'mine transaction')!)
  const transactions = mined.map(({ attributes }) => attributes['tollgate.transaction'])
  for (const transaction of new Set(transactions)) {
    const steps = mined.filter((_, index) => transactions[index] === transaction)
    const first = steps.find(({ links }) => links.length === 0)!
    expect(first).toBeDefined()
    for (const step of steps) {
      if (step === first) continue
      expect(step.links).toEqual([{ traceId: first.traceId, spanId: first.spanId }])
    }
  }
  expect(new Set(transactions).size).toBeLessThan(3)
  expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1 + own.length)
})
