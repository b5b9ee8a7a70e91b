import { createMetrics } from '@tollgate/service'
import { eventually } from '@tollgate/testing'
import { startPaymentMonitor, OPEN_PAYMENTS } from './payments/payment-monitor'
import { insertPayment } from './testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from './testing/gateway'
import { getRefusingUrl, answers, startUpstream } from './testing/upstream'

const CHAIN = 'eip155:84532'
const trace = '0af7651916cd43dd8448eb211c80319c'

const metrics = createMetrics({ traceId: () => trace })
let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway({ metrics })))
afterAll(() => auditAndClose(gateway))

/** The values of series by their labels, such as `network="base",state="signed"`. */
async function valuesOf(name: string): Promise<Record<string, number>> {
  const line = new RegExp(String.raw`^${name}(?:\{(.*)\})? (\S+)$`, 'gm')
  const found = (await metrics.register.metrics()).matchAll(line)
  return Object.fromEntries([...found].map(([, labels = '', value]) => [labels, Number(value)]))
}
const sumOf = async (name: string) =>
  Object.values(await valuesOf(name)).reduce((sum, value) => sum + value, 0)

/** What `work` adds to the series of a counter, without those that it leaves as they are. */
async function increaseOf(name: string, work: () => Promise<unknown>) {
  const before = await valuesOf(name)
  await work()
  const after = await valuesOf(name)
  return Object.fromEntries(
    Object.entries(after)
      .map(([labels, value]) => [labels, value - (before[labels] ?? 0)] as const)
      .filter(([, more]) => more !== 0),
  )
}

async function customer(credits: number) {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, credits)
  return wallet.signIn()
}
const rpc = (method: string) => ({ jsonrpc: '2.0', id: 1, method, params: [] })

describe('calls', () => {
  test('are counted by chain, class of method and outcome', async () => {
    const { call } = await customer(2)
    const counted = await increaseOf('tollgate_calls_total', async () => {
      await call()
      await call({ payload: rpc('eth_getLogs') })
      await call()
    })
    expect(counted).toEqual({
      [`chain="${CHAIN}",method_class="read",outcome="answered"`]: 1,
      [`chain="${CHAIN}",method_class="logs",outcome="answered"`]: 1,
      [`chain="${CHAIN}",method_class="read",outcome="payment_required"`]: 1,
    })
  })

  test('have an outcome of their own if a node knows no such method, fails or cuts off', async () => {
    const unknown = { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'the method does not exist' } }
    const { call } = await customer(10)
    const nodes = [
      [answers.status(200, JSON.stringify(unknown)), 'method_not_found'],
      [answers.status(503), 'upstream_failed'],
      [answers.resetAfter(400_000, 800_000), 'cut_off'],
    ] as const
    for (const [answer, outcome] of nodes) {
      const { url } = await startUpstream(answer)
      const chain_id = await gateway.chain(url)
      const counted = await increaseOf('tollgate_calls_total', async () => {
        await call({ chain_id }).catch(() => undefined)
        await eventually(
          () => endedOn(chain_id),
          (ended) => ended === 1,
        )
      })
      expect(counted).toEqual({ [`chain="eip155:${chain_id}",method_class="read",outcome="${outcome}"`]: 1 })
    }
    async function endedOn(chain: string) {
      const counts = Object.entries(await valuesOf('tollgate_calls_total'))
      return counts.filter(([labels]) => labels.includes(chain)).reduce((sum, [, value]) => sum + value, 0)
    }
  })

  test('no label has an unknown chain, a method or an address in it', async () => {
    const { call } = await customer(5)
    await call({ chain_id: 'no-such-chain' })
    await call({ payload: rpc('secret_method') })
    const text = await metrics.register.metrics()
    expect(text).not.toMatch(/no-such-chain|secret_method|0x[0-9a-f]{40}|127\.0\.0\.1/i)
    expect(text).toContain('method_class="other",outcome="answered"} 1')
  })
})

describe('upstreams', () => {
  test('have a latency, errors by kind and a circuit by provider and endpoint, with the trace of a call', async () => {
    const healthy = await startUpstream(answers.result())
    const failing = await startUpstream(answers.status(503))
    const rpc = [await getRefusingUrl(), failing.url, healthy.url]
    const chain_id = await gateway.chain({ provider_id: 'one', rpc })
    const { call } = await customer(10)
    for (let i = 0; i < 6; i++) expect((await call({ chain_id })).status).toBe(200)
    const labels = `chain="eip155:${chain_id}",provider="one"`
    const own = async (name: string) =>
      Object.fromEntries(Object.entries(await valuesOf(name)).filter(([key]) => key.includes(chain_id)))
    expect(await own('tollgate_upstream_errors_total')).toMatchObject({
      [`${labels},kind="unsent"`]: 5,
      [`${labels},kind="failed"`]: 5,
      [`${labels},kind="timeout"`]: 0,
    })
    expect(await own('tollgate_upstream_circuit_state')).toEqual({
      [`${labels},endpoint="rpc-0"`]: 2,
      [`${labels},endpoint="rpc-1"`]: 2,
      [`${labels},endpoint="rpc-2"`]: 0,
    })
    expect(await own('tollgate_upstream_duration_seconds_count')).toEqual({ [labels]: 11 })
    const { port, close } = await metrics.listen({ port: 0, host: '127.0.0.1' })
    const accept = 'application/openmetrics-text'
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { accept } })).text()
    await close()
    expect(text).toMatch(
      new RegExp(`tollgate_upstream_duration_seconds_bucket.*${chain_id}.* # \\{trace_id="${trace}"\\}`),
    )
  })
})

describe('money', () => {
  test('credits sold, spent and refunded are those of the ledger', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    expect((await call({ payment: await wallet.pay() })).status).toBe(200)
    const { url } = await startUpstream(answers.status(503))
    expect((await call({ chain_id: await gateway.chain(url) })).status).toBe(500)
    await gateway.ledger.drain()
    const { rows } = await gateway.pool.query<{ sold: bigint; spent: bigint; refunded: bigint }>(
      `SELECT (SELECT coalesce(sum(credits), 0)::bigint FROM grants) AS sold, coalesce(sum(credits), 0)::bigint AS spent,
         coalesce(sum(credits) FILTER (WHERE state = 'refunded'), 0)::bigint AS refunded FROM usage`,
    )
    expect(rows[0]?.refunded).toBeGreaterThan(0n)
    expect({
      sold: BigInt(await sumOf('tollgate_credits_sold_total')),
      spent: BigInt(await sumOf('tollgate_credits_spent_total')),
      refunded: BigInt(await sumOf('tollgate_credits_refunded_total')),
    }).toEqual(rows[0])
    const batches = await valuesOf('tollgate_ledger_batch_size_sum')
    expect(batches['batch="spend"']).toBeGreaterThan(0)
    expect(Object.keys(await valuesOf('tollgate_ledger_batch_wait_seconds_count'))).toEqual(
      Object.keys(batches),
    )
  })

  test('402s have their reason, and payments their outcome', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const required = await increaseOf('tollgate_payment_required_total', async () => {
      await gateway.api.get('/v1/84532').expect(402)
      expect((await call()).status).toBe(402)
      gateway.facilitator.refuse('insufficient_funds')
      expect((await call({ payment: await wallet.pay() })).status).toBe(402)
      gateway.facilitator.refuse('whatever a facilitator says')
      expect((await call({ payment: await wallet.pay() })).status).toBe(402)
      gateway.facilitator.refuse(undefined)
      expect((await call({ payment: await wallet.pay() })).status).toBe(200)
    })
    expect(required).toEqual({
      'reason="no_payment"': 1,
      'reason="no_credits"': 1,
      'reason="insufficient_funds"': 1,
      'reason="other"': 1,
    })
    const network = 'network="base-sepolia"'
    expect(await valuesOf('tollgate_payments_completed_total')).toMatchObject({
      [`${network},outcome="refused",reason="insufficient_funds"`]: 1,
      [`${network},outcome="refused",reason="other"`]: 1,
      [`${network},outcome="credited",reason=""`]: expect.any(Number) as number,
    })
    expect((await valuesOf('tollgate_payment_duration_seconds_count'))[`${network},outcome="refused"`]).toBe(
      2,
    )
    const facilitator = await valuesOf('tollgate_facilitator_request_duration_seconds_count')
    expect(facilitator['operation="settle",outcome="ok"']).toBeGreaterThanOrEqual(3)
    expect(facilitator['operation="settle",outcome="unknown"']).toBe(0)
  })

  test('open payments have a number and an age by state, read from indexes of open payments', async () => {
    const { address } = gateway.wallet()
    const open = await insertPayment(gateway.pool, { wallet: address, credits: 1, status: 'settling' })
    const age = "created_at = now() - INTERVAL '100 seconds', next_attempt_at = now() + INTERVAL '1 hour'"
    await gateway.pool.query(`UPDATE payments SET ${age} WHERE id = $1`, [open])
    const monitor = startPaymentMonitor({
      database: gateway.database,
      metrics,
      logger: gateway.log.logger,
      now: () => new Date(),
    })
    const states = await eventually(
      () => valuesOf('tollgate_payments_open'),
      (read) => Object.keys(read).length > 0,
    )
    expect(states).toEqual({
      'state="received"': 0,
      'state="settling"': 1,
      'state="settled"': 0,
      'state="disputed"': 0,
    })
    await monitor.stop()
    const { 'state="settling"': oldest, 'state="settled"': none } = await valuesOf(
      'tollgate_payments_oldest_age_seconds',
    )
    expect(oldest).toBeGreaterThanOrEqual(100)
    expect(none).toBe(0)

    const client = await gateway.pool.connect()
    try {
      await client.query('BEGIN; SET LOCAL enable_seqscan = off')
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${OPEN_PAYMENTS}`)
      const text = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(text).toMatch(/payments_open(_wallet)?_idx/)
      expect(text).toContain('payments_disputed_idx')
    } finally {
      client.release(true)
    }
  })
})
