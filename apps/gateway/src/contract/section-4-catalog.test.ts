import { closeAll } from '@tollgate/testing'
import { planOf, providerOf } from '../testing/catalog'
import { typesOf } from '../testing/fields'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { usdc } from '../testing/payment'

const starter = {
  id: 1,
  plan_name: 'Starter',
  chain_id: '84532',
  network: 'base-sepolia',
  ecosystem: 'evm',
  asset_address: usdc,
  amount: '10000',
  decimals: 6,
  display_denom: 'USDC',
  credits: 100,
  pay_to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
}
const notServed = ['eth_subscribe', 'eth_unsubscribe']
/** Beside the members of the contract. */
const pricesOf = (price_per_credit: string) => ({
  price_per_credit,
  calls: [
    {
      ecosystem: 'evm',
      chain_id: '84532',
      transports: ['rpc', 'rest'],
      method_credits: {},
      not_served: notServed,
    },
    {
      ecosystem: 'evm',
      chain_id: '777',
      transports: ['rpc'],
      method_credits: { eth_getLogs: 5 },
      not_served: [...notServed, 'debug_subscribe'],
    },
  ],
})
/** Beside the members of the contract. */
const nodePrices = { methods: { eth_getLogs: 5 }, not_served: [...notServed, 'debug_subscribe'] }
const node = {
  provider_id: 'node',
  category: 'evm',
  chain_id: '777',
  rpc: ['https://one.example/v1', 'https://two.example'],
  rest: [],
}

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(
    planOf({ id: 2, active: false }),
    planOf({ id: 3, plan_name: 'Big', credits: 9 }),
  )
  gateway.catalog.providers.push(
    providerOf({
      ...node,
      category: 'evm',
      description: 'Two of them',
      methods: { eth_getLogs: 5 },
      not_served: ['debug_subscribe'],
    }),
    providerOf({ provider_id: 'asleep', chain_id: '777', rpc: ['https://x.example'], active: false }),
  )
  await gateway.reapply()
})
afterAll(closeAll)

const get = (path: string, query: object = {}) => gateway.api.get(path).query(query)

describe('4. GET /pricing', () => {
  test('response | JSON array of pricing plans (only active plans)', async () => {
    expect((await get('/pricing').expect(200)).body).toEqual([
      { ...starter, ...pricesOf('0.0001') },
      { ...starter, ...pricesOf('0.001111111111111111111112'), id: 3, plan_name: 'Big', credits: 9 },
    ])
  })

  test.each([
    ['id', 'integer'],
    ['plan_name', 'string'],
    ['chain_id', 'string'],
    ['network', 'string'],
    ['ecosystem', 'string'],
    ['asset_address', 'string'],
    ['amount', 'string'],
    ['decimals', 'integer'],
    ['display_denom', 'string'],
    ['credits', 'integer'],
    ['pay_to', 'string'],
  ])('2. Pricing plan | %s | %s', async (field, type) => {
    const body: unknown = (await get('/pricing')).body
    for (const plan of typesOf(body) as object[]) expect(plan).toHaveProperty(field, type)
  })
})

describe('4. GET /pricing/:id', () => {
  test('path, response | `id` integer plan id | object `data` holding one pricing plan', async () => {
    expect((await get('/pricing/1').expect(200)).body).toEqual({
      data: { ...starter, ...pricesOf('0.0001') },
    })
  })

  test.each(['999', '2'])('unknown plan | %s: 404', async (id) => {
    expect(outcomeOf(await get(`/pricing/${id}`))).toEqual([404, 'NOT_FOUND'])
  })

  test.each(['abc', '1.5', '-1', '0', '1e0', '01', '%31%20', '99999999999999999999'])(
    'path | %s is no plan id: 400',
    async (id) => {
      expect(outcomeOf(await get(`/pricing/${id}`))).toEqual([400, 'INVALID_REQUEST'])
    },
  )
})

describe('4. GET /providers', () => {
  test('response | object `data` holding an array of providers', async () => {
    const body: unknown = (await get('/providers').expect(200)).body
    const { data } = body as { data: { provider_id: string; id: number }[] }
    expect(data.map(({ provider_id }) => provider_id).sort()).toEqual(['node', 'provider-84532'])
    const listed = data.find(({ provider_id }) => provider_id === 'node')
    expect(listed).toEqual({
      ...node,
      ...nodePrices,
      id: listed?.id,
      network: '777',
      description: 'Two of them',
    })
  })

  test.each([
    ['id', 'integer'],
    ['provider_id', 'string'],
    ['category', 'string'],
    ['chain_id', 'string'],
    ['description', 'string'],
  ])('2. Provider | %s | %s', async (field, type) => {
    const body: unknown = (await get('/providers')).body
    for (const provider of (typesOf(body) as { data: object[] }).data)
      expect(provider).toHaveProperty(field, type)
  })

  test.each(['rpc', 'rest'])('2. Provider | %s | array of string, may be empty', async (field) => {
    const body: unknown = (await get('/providers')).body
    for (const provider of (body as { data: Record<string, unknown>[] }).data)
      expect([[], ['string'], ['string', 'string']]).toContainEqual(typesOf(provider[field]))
  })
})

describe('4. GET /providers/:id', () => {
  const query = { category: 'evm', chain_id: '777' }

  test('path, response | provider_id | object `data` holding one provider', async () => {
    expect((await get('/providers/node', query).expect(200)).body).toEqual({
      data: {
        ...node,
        ...nodePrices,
        id: expect.any(Number) as number,
        network: '777',
        description: 'Two of them',
      },
    })
  })

  test.each(['category', 'chain_id'])('query | %s | string, required: 400 without it', async (field) => {
    for (const value of [undefined, ''])
      expect(outcomeOf(await get('/providers/node', { ...query, [field]: value }))).toEqual([
        400,
        'INVALID_REQUEST',
      ])
    const twice = await gateway.api.get(`/providers/node?category=evm&chain_id=777&${field}=evm`)
    expect(outcomeOf(twice)).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each([
    ['provider', 'unknown', query],
    ['provider that is not active', 'asleep', query],
    ['chain', 'node', { ...query, chain_id: '778' }],
    ['chain of that provider', 'node', { ...query, chain_id: '84532' }],
    ['category', 'node', { ...query, category: 'cosmos' }],
  ])('unknown %s | 404', async (_, id, asked) => {
    expect(outcomeOf(await get(`/providers/${id}`, asked))).toEqual([404, 'NOT_FOUND'])
  })
})

describe('4. GET /x402/supported', () => {
  test('response | object with `kinds`, of scheme, network and asset: what the facilitator supports', async () => {
    const body: unknown = (await get('/x402/supported').expect(200)).body
    expect(body).toEqual({ kinds: [{ scheme: 'exact', network: 'base-sepolia', asset: usdc }] })
    expect(gateway.facilitator.supportAsked()).toBeGreaterThan(0)
  })

  test.each(['scheme', 'network', 'asset'])('2. Supported payment kind | %s | string', async (field) => {
    const body: unknown = (await get('/x402/supported')).body
    for (const kind of (typesOf(body) as { kinds: object[] }).kinds)
      expect(kind).toHaveProperty(field, 'string')
  })
})
