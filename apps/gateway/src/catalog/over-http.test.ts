import { stringify } from 'yaml'
import { balanceOf } from '../testing/accounts'
import { planOf, providerOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { applyCatalog } from './apply'
import { parseCatalog } from './catalog-file'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(() => auditAndClose(gateway))

async function applied(text: string) {
  const lines = await applyCatalog(gateway.database, parseCatalog(text))
  gateway.clock.advance(2)
  return lines
}
const provider = () =>
  providerOf({ chain_id: '84532', rpc: [gateway.upstream.url], rest: [gateway.upstream.url] })

describe('a plan that a file retires', () => {
  const sold = planOf({ id: 7, plan_name: 'Seven', credits: 5 })
  const only = (...plans: object[]) => stringify({ plans, providers: [provider()] })

  test.each([
    ['by leaving it out', () => only(planOf())],
    ['by active: false', () => only(planOf(), { ...sold, active: false })],
  ])('%s cannot be bought, and its credits can still be spent', async (_, retiring) => {
    await applied(only(planOf(), sold))
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 2, 7)
    const { call, refresh_token } = await wallet.signIn({ pricing_plan_id: 7 })
    await call().expect(200)
    expect(await applied(retiring())).toEqual(['- plan 7 retired'])

    const listed = (await gateway.api.get('/pricing').expect(200)).body as { id: number }[]
    expect(listed.map(({ id }) => id)).toEqual([1])
    expect(outcomeOf(await gateway.api.get('/pricing/7'))).toEqual([404, 'NOT_FOUND'])
    const login = await gateway.api.post('/auth/login').send(await wallet.login({ pricing_plan_id: 7 }))
    expect(outcomeOf(login)).toEqual([404, 'NOT_FOUND'])

    await gateway.api.post('/auth/refresh').send({ refresh_token }).expect(200)
    expect((await gateway.api.get(`/credits/${wallet.address}`)).body).toEqual([
      { pricing_plan_id: 7, remaining_credits: 1 },
    ])
    const last = await call().expect(200)
    expect(last.headers['x-credits-remaining']).toBe('0')
    const asked = gateway.facilitator.calls.length
    expect(outcomeOf(await call())).toEqual([404, 'NOT_FOUND'])
    expect(outcomeOf(await call({ payment: await wallet.pay(sold) }))).toEqual([404, 'NOT_FOUND'])
    expect(gateway.facilitator.calls).toHaveLength(asked)

    expect(await applied(only(planOf(), sold))).toEqual(['+ plan 7 sold again'])
    await gateway.api.get('/pricing/7').expect(200)
    expect((await call({ payment: await wallet.pay(sold) })).headers['x-credits-remaining']).toBe('4')
  })
})

test('method weights in a file set the cost of calls and batches, also after a change', async () => {
  const weighing = (weights: string) => `
plans:
  - ${JSON.stringify(planOf())}
providers:
  - provider_id: heavy
    category: evm
    chain_id: weights
    rpc: [${gateway.upstream.url}]
    rest: [${gateway.upstream.url}]
    methods: ${weights}
  - ${JSON.stringify(provider())}
`
  await applied(weighing('{ eth_getLogs: 5, trace_block: 20, status: 3 }'))
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 100)
  const { call } = await wallet.signIn()
  const entry = (method: string) => ({ jsonrpc: '2.0', id: 1, method, params: [] })
  const costOf = async (payload: unknown, changes: object = {}) => {
    const answer = await call({ chain_id: 'weights', payload, ...changes })
    expect(answer.status).toBe(200)
    return answer.headers['x-credits-charged'] as string
  }

  expect(await costOf(entry('eth_call'))).toBe('1')
  expect(await costOf(entry('eth_getLogs'))).toBe('5')
  expect(await costOf(['eth_getLogs', 'eth_call', 'trace_block'].map(entry))).toBe('26')
  expect(await costOf({}, { method: 'GET', resource: 'status' })).toBe('3')
  expect(await costOf({}, { transport: 'rest', method: 'GET', resource: 'v1/items' })).toBe('1')
  expect(await costOf(entry('eth_getLogs'), { chain_id: '84532' })).toBe('1')

  expect(await applied(weighing('{ eth_getLogs: 2 }'))).toEqual([
    '~ provider "heavy" (evm, weights) methods.eth_getLogs: 5 -> 2',
    '~ provider "heavy" (evm, weights) methods.status: 3 -> 1',
    '~ provider "heavy" (evm, weights) methods.trace_block: 20 -> 1',
  ])
  expect(await costOf(['eth_getLogs', 'eth_call', 'trace_block'].map(entry))).toBe('4')

  const aboveBalance = await call({ chain_id: 'weights', payload: Array(30).fill(entry('eth_getLogs')) })
  expect([aboveBalance.status, await balanceOf(gateway.ledger, wallet.address)]).toEqual([402, 59n])
  const { rows } = await gateway.pool.query<{ credits: number }>(
    "SELECT credits FROM usage WHERE chain_id = 'weights' ORDER BY id",
  )
  expect(rows.map(({ credits }) => credits)).toEqual([1, 5, 26, 3, 1, 4])
})
