import { caip2, encodeJson, type PaymentRequiredV2 } from '@tollgate/protocol'
import { hiddenPlans } from '../catalog/hidden-plans'
import { catalogOf, cosmosPlanOf, planOf, providerOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { publicPayment } from '../testing/public-client'
import { blockNumber, offerIn, post } from '../testing/plain'

const MAX_HEADERS = 6_144
const MAX_RETURNED = 2_048

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway({
    environment: { OFFER_SIGNING_KEY: 'a secret of this test run and no other' },
  })
  gateway.catalog.providers.push(
    providerOf({ chain_id: 'osmosis-1', category: 'cosmos', rest: ['http://127.0.0.1:1'] }),
  )
  await gateway.reapply()
})
afterAll(() => auditAndClose(gateway))

const assetOf = (index: number) => `0x${String(index).padStart(40, '1')}`

/** Plans of five networks, each with bundles of several assets, the smallest last. */
const plansOf = (count: number, name: string, base = 0) =>
  Array.from({ length: count }, (_, index) => {
    const amount = String(1_000_000 - index)
    const fields = { id: base + count - index, plan_name: name, amount }
    if (index % 5 === 4)
      return cosmosPlanOf({ ...fields, asset_address: `ibc/${String(index % 3).repeat(64)}` })
    const network = ['84532', '8453', '137', '43114'][index % 5]!
    const asset = { asset_address: assetOf(index % 3), asset_name: name }
    return planOf({ ...fields, ...asset, chain_id: network, network: `network-${network}` })
  })

const networkOf = ({ ecosystem, chain_id: chainId }: TestGateway['catalog']['plans'][number]) =>
  caip2({ ecosystem, chainId })

const headersLength = ({ headers }: { headers: Record<string, string> }) =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length + 4, 40)

async function sell(plans: TestGateway['catalog']['plans']) {
  gateway.catalog.plans.splice(0, Infinity, ...plans)
  await gateway.reapply()
}

const long = 'Ein sehr langer Name für ein Bündel, '.repeat(4).slice(0, 120).trim()

describe.each([
  [2, 'Starter', 1_000],
  [18, 'Starter', 2_000],
  [32, 'Starter', 3_000],
  [100, 'Starter', 4_000],
  [100, long, 5_000],
])('with %i plans named %s', (count, name, base) => {
  const plans = plansOf(count, name, base)
  beforeAll(() => sell(plans))

  test.each([
    ['a JSON-RPC call', () => post(gateway.api, '/v1/84532', blockNumber), 'eip155:84532'],
    [
      'a REST call',
      () => gateway.api.get('/v1/osmosis-1/rest/cosmos/bank/v1beta1/supply?x=1'),
      'cosmos:osmosis-1',
    ],
    [
      'a REST call of a long path',
      () => gateway.api.get(`/v1/osmosis-1/rest/${'long/'.repeat(1_000)}`),
      'cosmos:osmosis-1',
    ],
  ] as const)('the headers of a 402 for %s fit, and offer its chain first', async (_, send, chain) => {
    const answer = await send()
    expect(answer.status).toBe(402)
    expect(headersLength(answer)).toBeLessThanOrEqual(MAX_HEADERS)
    const required = offerIn(answer)
    const termsOf = (one: { network: string; asset: string; amount: string }) =>
      `${one.network} ${one.asset} ${one.amount}`
    const offered = new Set(required.accepts.map(termsOf))
    const own = plans.filter((plan) => networkOf(plan) === chain)
    const [smallest] = own.toSorted((one, other) => Number(one.amount) - Number(other.amount))
    if (smallest) expect(offered).toContain(`${chain} ${smallest.asset_address} ${smallest.amount}`)
    if (chain.startsWith('eip155:')) expect(required.accepts[0]!.network).toBe(chain)
    if (count > 2) expect(new Set(required.accepts.map(({ network }) => network)).size).toBeGreaterThan(1)
    const isWhole = plans.length === offered.size
    expect(required.resource.description?.includes('https://gateway.example/pricing')).toBe(!isWhole)
    expect(Object.keys(required.extensions ?? {})).toContain('sign-in-with-x')
    await expectSmallEcho(required)
  })

  test('the headers of a 402 in a session fit', async () => {
    const [plan] = plans
    const wallet = gateway.wallet()
    const session = await wallet.signIn({ x402_chain_id: plan!.chain_id, pricing_plan_id: plan!.id })
    const answer = await session.call()
    expect(answer.status).toBe(402)
    expect(headersLength(answer)).toBeLessThanOrEqual(MAX_HEADERS)
  })
})

async function expectSmallEcho(required: PaymentRequiredV2) {
  const payment = await publicPayment(required, { payload: {} })
  expect(encodeJson(payment.extensions).length).toBeLessThanOrEqual(MAX_RETURNED)
}

test('the catalog command names the plans that no 402 of a chain has room for', () => {
  const providers = [providerOf({ chain_id: '84532' })]
  expect(hiddenPlans(catalogOf({ plans: plansOf(2, 'Starter'), providers }))).toEqual([])
  const [line, ...more] = hiddenPlans(catalogOf({ plans: plansOf(18, 'Starter'), providers }))
  expect(more).toEqual([])
  expect(line).toMatch(
    /^a 402 for eip155:84532 has room for \d+ of 18 plans; only GET \/pricing shows 1?\d, /,
  )
})
