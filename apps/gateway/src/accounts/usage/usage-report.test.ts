import { UsageAnswer, type UsageSum } from '@tollgate/protocol'
import { closeAll, eventually } from '@tollgate/testing'
import { planOf } from '../../testing/catalog'
import { openSession } from '../../testing/accounts'
import { testGateway, type TestGateway } from '../../testing/gateway'
import { chargeOf, endingOf, inSession } from '../../testing/ledgers'
import { outcomeOf } from '../../testing/outcome'
import { count, reportOf, sumsOf } from '../../testing/usage'
import { type Charge } from '../call-charges'
import { type Ending } from '../call-endings'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ environment: { TRUSTED_PROXIES: 1 } })
  gateway.catalog.plans.push(planOf({ id: 2, plan_name: 'Second' }))
  await gateway.reapply()
})
afterAll(closeAll)

async function caller() {
  const { address } = gateway.wallet()
  const sessions = new Map<number, string>()
  for (const planId of [1, 2]) {
    await gateway.fund(address, 10_000, planId)
    sessions.set(planId, await openSession(gateway.pool, address, planId))
  }
  async function call(
    { daysAgo = 0, ...charge }: Partial<Charge> & { daysAgo?: number } = {},
    ending: Partial<Ending> = {},
  ) {
    const authority = inSession(sessions.get(charge.planId ?? 1)!)
    const spent = await gateway.ledger.spend(chargeOf({ authority, wallet: address, ...charge }))
    if (spent.outcome !== 'paid') throw new Error(spent.outcome)
    await gateway.pool.query(
      'UPDATE usage SET created_at = created_at - make_interval(days => $2) WHERE id = $1',
      [spent.usageId, daysAgo],
    )
    await gateway.ledger.finish({ ...endingOf(spent.usageId, ending.state), ...ending })
  }
  const usage = async (query: object = {}) =>
    UsageAnswer.parse(
      (
        await gateway.api
          .get(`/usage/${address}`)
          .query(query)
          .expect(200)
          .expect('cache-control', 'no-store')
      ).body,
    )
  return { address, call, usage }
}

const startOf = (interval: 'hour' | 'day', ago = 0) => {
  const ms = interval === 'hour' ? 3_600_000 : 86_400_000
  return new Date((Math.floor(Date.now() / ms) - ago) * ms).toISOString()
}
const short = ({ data }: UsageAnswer) =>
  data.map(({ chain_id, rpc_method, calls, credits, failed }: UsageSum) => [
    chain_id,
    rpc_method,
    calls,
    credits,
    failed,
  ])

test('sums calls, credits and failures by chain and method, before and after they are counted', async () => {
  const { address, call, usage } = await caller()
  await call({ cost: 3 })
  await call({}, { state: 'refunded', statusCode: null })
  await call({}, { statusCode: 502 })
  await call({}, { statusCode: null, outcome: 'upstream_timeout' })
  await call({ rpcMethod: 'eth_call', cost: 2 }, { statusCode: 404 })
  await call({ chainId: 'osmosis-1', transport: 'rest', rpcMethod: null, cost: 5, planId: 2 })

  const expected = [
    ['84532', 'eth_blockNumber', 4, 5, 3],
    ['84532', 'eth_call', 1, 2, 0],
    ['osmosis-1', null, 1, 5, 0],
  ]
  for (const isCounted of [false, true]) {
    if (isCounted) await count(gateway.pool)
    expect(short(await usage())).toEqual(expected)
    expect(short(await usage({ interval: 'hour' }))).toEqual(expected)
    expect(short(await usage({ plan_id: 1 }))).toEqual(expected.slice(0, 2))
    expect(short(await usage({ plan_id: 2 }))).toEqual(expected.slice(2))
    expect(await reportOf(gateway.pool, address)).toEqual(await sumsOf(gateway.pool, address))
  }
  await call({ cost: 4 })
  expect(short(await usage())[0]).toEqual(['84532', 'eth_blockNumber', 5, 9, 3])
})

test('by hour and by day (UTC), of the range that is asked for', async () => {
  const { call, usage } = await caller()
  for (const daysAgo of [0, 1, 6, 29, 30, 365]) await call({ daysAgo, cost: 1 + daysAgo })
  for (const isCounted of [false, true]) {
    if (isCounted) await count(gateway.pool)
    const month = await usage()
    expect(month).toMatchObject({ from: startOf('day', 29), to: startOf('day', -1), interval: 'day' })
    expect(month.data.map(({ period, credits }) => [period, credits])).toEqual(
      [29, 6, 1, 0].map((daysAgo) => [startOf('day', daysAgo), 1 + daysAgo]),
    )
    const day = startOf('day', 30).slice(0, 10)
    const one = await usage({ from: day, to: day })
    expect(one).toMatchObject({ from: startOf('day', 30), to: startOf('day', 29) })
    expect(one.data.map(({ credits }) => credits)).toEqual([31])
    expect((await usage({ from: startOf('day', 365) })).data).toHaveLength(6)

    const hours = await usage({ interval: 'hour' })
    expect(hours).toMatchObject({ from: startOf('hour', 23), to: startOf('hour', -1), interval: 'hour' })
    expect(hours.data.map(({ period, credits }) => [period, credits])).toEqual([[startOf('hour'), 1]])
    const week = await usage({ interval: 'hour', from: startOf('hour', 167) })
    expect(week.data.map(({ credits }) => credits)).toEqual([7, 2, 1])
    const past = await usage({ interval: 'hour', from: startOf('hour', 24), to: startOf('hour', 23) })
    expect(past.data.map(({ credits }) => credits)).toEqual([2])
  }
})

test('names the 20 most called methods of a chain and sums the rest as `other`, and of 30 chains at most 100', async () => {
  const { call, usage } = await caller()
  for (let method = 0; method < 25; method++)
    for (let calls = 0; calls < (method < 20 ? 2 : 1); calls++) await call({ rpcMethod: `eth_${method}` })
  await count(gateway.pool)
  const { data } = await usage()
  expect(data).toHaveLength(21)
  expect(data.find(({ rpc_method }) => rpc_method === 'other')).toMatchObject({ calls: 5, credits: 5 })
  expect(data.reduce((sum, { calls }) => sum + calls, 0)).toBe(45)

  for (let chain = 0; chain < 30; chain++)
    for (let method = 0; method < 5; method++)
      await call({ chainId: `chain-${chain}`, rpcMethod: `m${method}` })
  const many = (await usage()).data
  expect(many.filter(({ rpc_method }) => rpc_method !== 'other')).toHaveLength(100)
  expect(many.reduce((sum, { calls }) => sum + calls, 0)).toBe(195)
})

test('of a wallet in any letter case; empty for one without calls, and for that of another', async () => {
  const { address, call } = await caller()
  await call()
  for (const wallet of [address, address.toLowerCase()])
    expect(((await gateway.api.get(`/usage/${wallet}`).expect(200)).body as UsageAnswer).data).toHaveLength(1)
  const other = (await caller()).address
  expect(((await gateway.api.get(`/usage/${other}`).expect(200)).body as UsageAnswer).data).toEqual([])
})

test.each([
  'interval=minute',
  'interval=',
  'from=yesterday',
  'from=2026-01-31T12:00:00',
  'from=2026-02-30',
  'to=1e9',
  'from=2026-01-02&to=2026-01-01',
  'from=2025-01-01&to=2026-01-03',
  'interval=hour&from=2026-01-01&to=2026-01-08',
  'plan_id=-1',
  'plan_id=x',
  'from=2026-01-01&from=2026-01-01',
])('refuses ?%s', async (query) => {
  expect(outcomeOf(await gateway.api.get(`/usage/${gateway.wallet().address}?${query}`))).toEqual([
    400,
    'INVALID_REQUEST',
  ])
})

test('an address has four reports at once; those of others wait for their turn', async () => {
  const { address, usage } = await caller()
  const connection = await gateway.pool.connect()
  await connection.query('BEGIN; LOCK TABLE usage_totals IN ACCESS EXCLUSIVE MODE')
  try {
    const held = Array.from({ length: 4 }, () => usage())
    await eventually(
      () =>
        gateway.pool.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'usage_totals'::regclass`),
      ({ rowCount }) => rowCount === 4,
    )
    expect(outcomeOf(await gateway.api.get(`/usage/${address}`))).toEqual([503, 'OVERLOADED'])
    const elsewhere = gateway.api.get(`/usage/${address}`).set('X-Forwarded-For', '203.0.113.7')
    const waiting = elsewhere.then(({ status }) => status)
    await connection.query('COMMIT')
    expect(await waiting).toBe(200)
    expect(await Promise.all(held)).toHaveLength(4)
  } finally {
    connection.release()
  }
})
