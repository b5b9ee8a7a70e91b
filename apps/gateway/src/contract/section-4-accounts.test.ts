import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { fund } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { typesOf } from '../testing/fields'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { type TestWallet } from '../testing/wallet'

type Page = { data: Record<string, unknown>[]; pagination: { limit: number; offset: number; total: number } }

const CALLS = 25
const PAYMENTS = 32

let gateway: TestGateway
let wallet: TestWallet
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(planOf({ id: 2, plan_name: 'Other' }))
  await gateway.reapply()
  wallet = gateway.wallet()
  await gateway.fund(wallet.address, 2, 2)
  const session = await wallet.signIn()
  await session.call({ payment: await wallet.pay() }).expect(200)
  for (let calls = 1; calls < CALLS - 1; calls++) await session.call().expect(200)
  await (await wallet.signIn({ pricing_plan_id: 2 })).call().expect(200)
  for (let payments = 2; payments < PAYMENTS; payments++)
    await fund({ pool: gateway.pool, ledger: gateway.ledger }, wallet.address, 1)
  await gateway.ledger.drain()
})
afterAll(closeAll)

const get = (path: string, query: object = {}) => gateway.api.get(path).query(query)
const found = async (path: string, query: object = {}) =>
  (await get(path, query).expect(200).expect('cache-control', 'no-store')).body as unknown
const pageOf = async (path: string, query: object = {}) => (await found(path, query)) as Page
const idsOf = ({ data }: Page) => data.map(({ id }) => id)

const spellings = () => [
  wallet.address,
  wallet.address.toLowerCase(),
  `0x${wallet.address.slice(2).toUpperCase()}`,
]
const noWallets = ['alice', '0x12', '%00', `0x${'0'.repeat(41)}`, "0x' OR 1=1 --"]

describe('4. GET /credits/:wallet', () => {
  test('response | array of credit balances, one per pricing plan', async () => {
    const left = planOf().credits + (PAYMENTS - 2) - (CALLS - 1)
    for (const address of spellings())
      expect(await found(`/credits/${address}`)).toEqual([
        { pricing_plan_id: 1, remaining_credits: left },
        { pricing_plan_id: 2, remaining_credits: 1 },
      ])
  })

  test.each(['pricing_plan_id', 'remaining_credits'])('2. Credit balance | %s | integer', async (field) => {
    const body: unknown = (await get(`/credits/${wallet.address}`)).body
    for (const balance of typesOf(body) as object[]) expect(balance).toHaveProperty(field, 'integer')
  })

  test('path | a wallet that never bought: an empty array', async () => {
    expect((await get(`/credits/${gateway.wallet().address}`).expect(200)).body).toEqual([])
  })
})

describe.each([
  ['/history', CALLS, 20],
  ['/payments', PAYMENTS, 30],
])('4. GET %s/:wallet', (path, total, size) => {
  const page = (query: object = {}, address = wallet.address) => pageOf(`${path}/${address}`, query)

  test('response | `data` and `pagination` of limit, offset and total, newest first', async () => {
    for (const address of spellings()) {
      const { data, pagination } = await page({}, address)
      expect([data.length, pagination]).toEqual([size, { limit: size, offset: 0, total }])
      const times = data.map(({ created_at }) => String(created_at))
      expect(times).toEqual(times.toSorted().reverse())
    }
  })

  test(`query | limit | default ${size}`, async () => {
    expect((await page()).data).toHaveLength(size)
    expect((await page({ limit: size + 1 })).data).toHaveLength(size + 1)
    expect((await page({ limit: 2 })).data).toHaveLength(2)
  })

  test('query | offset | default 0', async () => {
    const all = idsOf(await page({ limit: 100 }))
    expect(idsOf(await page())).toEqual(all.slice(0, size))
    expect(idsOf(await page({ offset: 0 }))).toEqual(all.slice(0, size))
    expect(idsOf(await page({ offset: 3, limit: 4 }))).toEqual(all.slice(3, 7))
    expect(idsOf(await page({ offset: total }))).toEqual([])
    expect(new Set(all).size).toBe(total)
  })

  test.each(['limit', 'offset'])(
    'query | %s | anything but a whole number within its bounds: 400',
    async (field) => {
      for (const value of [
        '',
        'NaN',
        '-1',
        '1.5',
        '1e9',
        '1e1',
        '0x10',
        '+5',
        ' 5',
        '05',
        '99999999999999999999',
      ])
        expect([value, ...outcomeOf(await get(`${path}/${wallet.address}`, { [field]: value }))]).toEqual([
          value,
          400,
          'INVALID_REQUEST',
        ])
    },
  )

  test.each(noWallets)('path | %s is not a wallet: 400', async (text) => {
    expect(outcomeOf(await get(`${path}/${text}`))).toEqual([400, 'INVALID_REQUEST'])
    expect(outcomeOf(await get(`/credits/${text}`))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('path | an unknown wallet: an empty page', async () => {
    expect(await page({}, gateway.wallet().address)).toEqual({
      data: [],
      pagination: { limit: size, offset: 0, total: 0 },
    })
  })
})

describe('4. GET /history/:wallet', () => {
  const history = (query: object = {}) => pageOf(`/history/${wallet.address}`, query)

  test('query | plan_id | optional, filters by plan', async () => {
    const [all, first, second] = [
      await history(),
      await history({ plan_id: 1 }),
      await history({ plan_id: 2 }),
    ]
    expect([all, first, second].map(({ pagination }) => pagination.total)).toEqual([CALLS, CALLS - 1, 1])
    expect(new Set(first.data.map(({ pricing_plan_id }) => pricing_plan_id))).toEqual(new Set([1]))
    expect(second.data.map(({ pricing_plan_id }) => pricing_plan_id)).toEqual([2])
    for (const plan_id of [0, 3]) expect((await history({ plan_id })).data).toEqual([])
    for (const plan_id of ['', '-1', 'x', '1.5'])
      expect(outcomeOf(await get(`/history/${wallet.address}`, { plan_id }))).toEqual([
        400,
        'INVALID_REQUEST',
      ])
  })

  test('response | one usage record', async () => {
    const { data } = await history({ plan_id: 2 })
    expect(data).toEqual([
      {
        id: expect.any(Number) as number,
        pricing_plan_id: 2,
        provider_id: 'provider-84532',
        ecosystem: 'evm',
        chain_id: '84532',
        transport: 'rpc',
        method: 'POST',
        resource: '',
        rpc_method: 'eth_blockNumber',
        credits: 1,
        status_code: 200,
        outcome: 'answered',
        latency_ms: expect.any(Number) as number,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
        key_label: null,
      },
    ])
  })
})

describe('4. GET /payments/:wallet', () => {
  test('response | one payment record', async () => {
    const { data } = await pageOf(`/payments/${wallet.address}`, { limit: 100 })
    const { network, chain_id, asset_address, amount, pay_to, credits, decimals, display_denom } = planOf()
    expect(data.find(({ transaction }) => transaction !== null)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      pricing_plan_id: 1,
      network,
      chain_id,
      asset: asset_address,
      amount,
      payer: wallet.address,
      pay_to,
      credits,
      status: 'credited',
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      block_number: 7,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      settled_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      reversed_at: null,
      nonce: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      decimals,
      display_denom,
    })
  })
})

describe('4. GET /payments/:wallet/:id', () => {
  test('response | the payment record, its step and what to do next', async () => {
    const { data } = await pageOf(`/payments/${wallet.address}`, { limit: 100 })
    const record = data.find(({ transaction }) => transaction !== null)
    for (const address of spellings())
      expect(await found(`/payments/${address}/${String(record?.id)}`)).toEqual({
        ...record,
        step: 'credited',
        confirmations: null,
        required_confirmations: null,
        next: null,
      })
  })

  test('path | a payment of another wallet, or of none: 404', async () => {
    const [{ id } = {}] = (await pageOf(`/payments/${wallet.address}`)).data
    const other = gateway.wallet().address
    for (const path of [`${other}/${String(id)}`, `${wallet.address}/${randomUUID()}`])
      expect(outcomeOf(await get(`/payments/${path}`))).toEqual([404, 'NOT_FOUND'])
  })

  test.each(['1', 'x', '%00'])('path | %s is no id of a payment: 400', async (id) => {
    expect(outcomeOf(await get(`/payments/${wallet.address}/${id}`))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('4. GET /usage/:wallet', () => {
  test('response | `data`, and the range and interval that it is of', async () => {
    for (const address of spellings()) {
      expect(await found(`/usage/${address}`)).toEqual({
        data: [
          {
            period: expect.stringMatching(/T00:00:00\.000Z$/) as string,
            chain_id: '84532',
            rpc_method: 'eth_blockNumber',
            calls: CALLS,
            credits: CALLS,
            failed: 0,
          },
        ],
        from: expect.stringMatching(/T00:00:00\.000Z$/) as string,
        to: expect.stringMatching(/T00:00:00\.000Z$/) as string,
        interval: 'day',
      })
    }
  })

  test('query | plan_id | optional, only the calls on that plan', async () => {
    const calls = async (plan_id: number) =>
      ((await found(`/usage/${wallet.address}`, { plan_id })) as { data: { calls: number }[] }).data.map(
        (sum) => sum.calls,
      )
    expect([await calls(1), await calls(2), await calls(3)]).toEqual([[CALLS - 1], [1], []])
  })

  test('query | interval, from, to | by hour for 7 days, by day for 366', async () => {
    const ask = (query: object) => get(`/usage/${wallet.address}`, query)
    await ask({ interval: 'hour', from: '2026-01-01', to: '2026-01-07' }).expect(200)
    await ask({ interval: 'day', from: '2024-01-01', to: '2024-12-31' }).expect(200)
    for (const query of [
      { interval: 'hour', from: '2026-01-01', to: '2026-01-08' },
      { interval: 'day', from: '2024-01-01', to: '2025-01-01' },
      { interval: 'week' },
      { from: 'x' },
    ])
      expect(outcomeOf(await ask(query))).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each(noWallets)('path | %s is not a wallet: 400', async (text) => {
    expect(outcomeOf(await get(`/usage/${text}`))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('path | an unknown wallet: no sums', async () => {
    expect(await found(`/usage/${gateway.wallet().address}`)).toMatchObject({ data: [] })
  })
})
