import { PaymentPage, UsagePage } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { findViolations, openSession, insertPayment } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { inSession, chargeOf, times } from '../testing/ledgers'
import { outcomeOf } from '../testing/outcome'
import { getRefusingUrl, startUpstream } from '../testing/upstream'
import { type Charge } from './call-charges'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(planOf({ id: 2, plan_name: 'Second' }))
  await gateway.reapply()
})
afterAll(closeAll)

const RING = 3_000

type Query = Record<string, unknown>
const history = async (wallet: string, query: Query = {}) =>
  UsagePage.parse((await gateway.api.get(`/history/${wallet}`).query(query).expect(200)).body)
const payments = async (wallet: string, query: Query = {}) =>
  PaymentPage.parse((await gateway.api.get(`/payments/${wallet}`).query(query).expect(200)).body)

async function caller() {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1000)
  await gateway.fund(wallet.address, 1000, 2)
  const [first, second] = [await wallet.signIn(), await wallet.signIn({ pricing_plan_id: 2 })]
  return { ...wallet, onFirst: first.call, onSecond: second.call }
}
const idsOf = ({ data }: { data: { id: unknown }[] }) => data.map(({ id }) => id)

describe('GET /history/:wallet', () => {
  test('lists each call and its outcome, newest first, for the wallet in any letter case', async () => {
    const { address, onFirst, onSecond } = await caller()
    const away = await gateway.chain(await getRefusingUrl())
    const slow = await gateway.chain(gateway.upstream.url)
    await onFirst().expect(200)
    await onSecond({
      chain_id: slow,
      resource: 'v1/blocks',
      transport: 'rest',
      method: 'GET',
      payload: {},
    }).expect(200)
    await onFirst({ chain_id: away }).expect(500)

    for (const wallet of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
      const { data, pagination } = await history(wallet)
      expect(pagination).toEqual({ limit: 20, offset: 0, total: 3 })
      const common = { ecosystem: 'evm', latency_ms: expect.any(Number) as number }
      expect(data).toEqual([
        expect.objectContaining({
          ...common,
          chain_id: away,
          credits: 0,
          status_code: null,
          outcome: 'upstream_failed',
        }),
        expect.objectContaining({
          ...common,
          pricing_plan_id: 2,
          provider_id: 'provider-0',
          chain_id: slow,
          transport: 'rest',
          method: 'GET',
          resource: 'v1/blocks',
          rpc_method: null,
        }),
        expect.objectContaining({
          ...common,
          pricing_plan_id: 1,
          chain_id: '84532',
          transport: 'rpc',
          method: 'POST',
          resource: '',
          rpc_method: 'eth_blockNumber',
          credits: 1,
          status_code: 200,
          outcome: 'answered',
        }),
      ])
      for (const record of data) expect(Date.parse(record.created_at)).toBeGreaterThan(Date.now() - 60_000)
    }
  })

  test('shows an unfinished call as reserved', async () => {
    const { address, onFirst } = await caller()
    let records: unknown
    const upstream = await startUpstream(async (res) => {
      records = (await history(address)).data
      res.end('{}')
    })
    await onFirst({ chain_id: await gateway.chain(upstream.url) }).expect(200)
    expect(records).toEqual([
      expect.objectContaining({ outcome: 'reserved', credits: 1, status_code: null, latency_ms: null }),
    ])
  })

  test('pages by offset and by `before`, across plans, to the end', async () => {
    const { address, onFirst, onSecond } = await caller()
    for (const call of [onFirst, onSecond, onSecond, onFirst, onFirst]) await call().expect(200)
    const all = idsOf(await history(address))
    expect(all).toEqual(all.toSorted((a, b) => Number(b) - Number(a)))
    expect(all).toHaveLength(5)
    for (const limit of [1, 2, 3, 5]) {
      const offsets = []
      for (let offset = 0; offset < 6; offset += limit)
        offsets.push(...idsOf(await history(address, { limit, offset })))
      expect(offsets).toEqual(all)
      const followed = []
      for (let page = await history(address, { limit }); page.data.length > 0 && followed.length < RING;) {
        followed.push(...idsOf(page))
        page = await history(address, { limit, before: page.data.at(-1)!.id })
        expect(page.pagination.total).toBe(5)
      }
      expect(followed).toEqual(all)
    }
    expect(idsOf(await history(address, { before: all[1], offset: 1, limit: 2 }))).toEqual(all.slice(3, 5))
  })

  test('repeats and skips no record while calls continue on two replicas and two plans', async () => {
    const { address } = gateway.wallet()
    const ledgers = [gateway.ledger, (await testGateway({ beside: gateway })).ledger] as const
    const charges: Charge[] = []
    for (const planId of [1, 2]) {
      await gateway.fund(address, 100_000, planId)
      const sessionId = await openSession(gateway.pool, address, planId)
      charges.push(chargeOf({ wallet: address, planId, authority: inSession(sessionId) }))
    }
    const spend = (index: number) => ledgers[index % 2]!.spend(charges[(index >> 1) % 2]!)
    await Promise.all(times(200, spend))
    const before = idsOf(await history(address, { limit: 100 }))
    before.push(...idsOf(await history(address, { limit: 100, offset: 100 })))

    const following = new AbortController()
    const spending = (async () => {
      for (let round = 0; !following.signal.aborted; round++)
        await Promise.all(times(8, (index) => spend(round + index)))
    })()
    const seen: unknown[] = []
    for (let page = await history(address, { limit: 7 }); page.data.length > 0 && seen.length < RING;) {
      seen.push(...idsOf(page))
      page = await history(address, { limit: 7, before: page.data.at(-1)!.id })
    }
    following.abort()
    await spending
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.slice(-200)).toEqual(before)
    const { total } = (await history(address)).pagination
    expect(total).toBeGreaterThan(200)
    expect(await findViolations(gateway.pool)).toEqual([])
  })
})

describe('GET /payments/:wallet', () => {
  test('lists each payment and its outcome, newest first', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    await call({ payment: await wallet.pay() }).expect(200)
    gateway.facilitator.refuse('insufficient_funds')
    await call({ chain_id: await gateway.chain(gateway.upstream.url), payment: await wallet.pay() })
    gateway.facilitator.refuse(undefined)

    const { data, pagination } = await payments(wallet.address)
    expect(pagination).toEqual({ limit: 30, offset: 0, total: 2 })
    const { network, chain_id, amount, pay_to, credits } = planOf()
    const common = { pricing_plan_id: 1, network, chain_id, amount, pay_to, credits, payer: data[0]!.payer }
    expect(data).toMatchObject([
      { ...common, status: 'failed', transaction: null, block_number: null, settled_at: null },
      { ...common, status: 'credited', block_number: 7 },
    ])
    expect(data[1]!.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    expect(Date.parse(data[1]!.settled_at!)).toBeGreaterThanOrEqual(Date.parse(data[1]!.created_at))
    expect(wallet.address.toLowerCase()).toBe(data[0]!.payer.toLowerCase())
  })

  test('pages by offset and by `before`, also over payments with equal times', async () => {
    const wallet = gateway.wallet().address
    for (let index = 0; index < 6; index++) await insertPayment(gateway.pool, { wallet, credits: 1 })
    await gateway.pool.query('UPDATE payments SET created_at = now() WHERE wallet = $1', [wallet])
    await insertPayment(gateway.pool, { wallet, credits: 1 })
    const all = idsOf(await payments(wallet))
    expect(new Set(all).size).toBe(7)
    const offsets = []
    for (let offset = 0; offset < 8; offset += 2)
      offsets.push(...idsOf(await payments(wallet, { limit: 2, offset })))
    expect(offsets).toEqual(all)

    const followed = []
    for (let page = await payments(wallet, { limit: 2 }); page.data.length > 0 && followed.length < RING;) {
      await insertPayment(gateway.pool, { wallet, credits: 1 })
      followed.push(...idsOf(page))
      page = await payments(wallet, { limit: 2, before: page.data.at(-1)!.id.toUpperCase() })
    }
    expect(followed).toEqual(all)
  })

  test('refuses a payment of another wallet as `before`', async () => {
    const address = gateway.wallet().address
    const foreign = await insertPayment(gateway.pool, {
      wallet: gateway.wallet().address,
      credits: 1,
    })
    for (const before of [randomUUID(), foreign])
      expect(outcomeOf(await gateway.api.get(`/payments/${address}`).query({ before }))).toEqual([
        400,
        'INVALID_REQUEST',
      ])
  })
})

describe.each(['/history', '/payments'])('GET %s/:wallet', (path) => {
  const wrong = [
    ...[
      '-1',
      '0',
      '101',
      '1e9',
      '1000000000',
      'NaN',
      '',
      '+5',
      '05',
      '0x10',
      '1.0',
      ' 5',
      '１０',
      '5%00',
      '9'.repeat(400),
    ].map((value) => `limit=${value}`),
    ...['-1', '10001', '1e9', 'NaN', '', '0.5', 'null', '9'.repeat(16)].map((value) => `offset=${value}`),
    'limit=5&limit=5',
    'offset=5&offset=6',
    'before=',
    'before=x',
    'before=-1',
    'before=1&before=2',
    'before=99999999999999999999',
    ...(path === '/history'
      ? ['plan_id=x', 'plan_id=', 'plan_id=-1', 'plan_id=2147483648', 'plan_id=1&plan_id=2']
      : []),
  ]
  test.each(wrong)('refuses ?%s', async (query) => {
    const answer = await gateway.api.get(`${path}/${gateway.wallet().address}?${query}`)
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect((answer.body as { message: string }).message).toMatch(/(limit|offset|before|plan_id): /)
  })

  test('accepts the largest page and offset, and says how to page beyond', async () => {
    const at = (query: Query) => gateway.api.get(`${path}/${gateway.wallet().address}`).query(query)
    await at({ limit: 100, offset: 10_000 }).expect(200)
    expect((await at({ offset: 10_001 })).body).toMatchObject({
      message: expect.stringContaining('`before`') as string,
    })
  })
})

test('balances and histories share one rate limit per address', async () => {
  const limited = await testGateway({ environment: { RATE_LIMIT_READS_PER_MINUTE: 3 } })
  const { address } = gateway.wallet()
  for (const path of ['/credits', '/history', '/payments']) {
    const answer = await limited.api.get(`${path}/${address}`).expect(200)
    expect(answer.headers['ratelimit-policy']).toBe('"reads";q=3;w=60')
  }
  for (const path of ['/credits', '/history', '/payments'])
    expect(outcomeOf(await limited.api.get(`${path}/${address}`))).toEqual([429, 'RATE_LIMITED'])
  await limited.api.get('/pricing').expect(200)
})
