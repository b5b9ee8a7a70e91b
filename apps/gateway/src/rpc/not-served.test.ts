import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, startUpstream } from '../testing/upstream'
import { notServedMethods } from './not-served'

test.each([
  ['evm', ['eth_call', 'eth_subscribe'], [], ['eth_subscribe']],
  ['evm', ['eth_unsubscribe'], [], ['eth_unsubscribe']],
  ['evm', ['subscribe', 'ETH_SUBSCRIBE', 'constructor'], [], []],
  ['cosmos', ['status', 'unsubscribe_all'], [], ['unsubscribe_all']],
  ['cosmos', ['eth_subscribe'], [], []],
  ['evm', ['trace_block', 'eth_call', 'eth_subscribe'], ['trace_block'], ['trace_block', 'eth_subscribe']],
  ['evm', [], ['trace_block'], []],
] as const)(
  'of the %s methods %j, with %j in the catalog, %j are not served',
  (ecosystem, methods, more, expected) => {
    expect(notServedMethods(ecosystem, methods, more)).toEqual(expected)
  },
)

describe('a call of a method that cannot be served over HTTP', () => {
  let gateway: TestGateway
  beforeAll(async () => (gateway = await testGateway()))
  afterAll(() => auditAndClose(gateway))

  const entry = (method: string) => ({ jsonrpc: '2.0', id: 1, method, params: [] })
  const chains = async () => {
    const upstream = await startUpstream(answers.result())
    const of = (category: 'evm' | 'cosmos') =>
      gateway.chain({ category, rpc: [upstream.url], rest: [upstream.url], not_served: ['trace_block'] })
    return { upstream, evm: await of('evm'), cosmos: await of('cosmos') }
  }

  test.each([
    ['in a call', 'evm', { payload: entry('eth_subscribe') }],
    ['in an entry of a batch', 'evm', { payload: [entry('eth_call'), entry('eth_unsubscribe')] }],
    ['of the catalog', 'evm', { payload: entry('trace_block') }],
    ['of CometBFT in a call', 'cosmos', { payload: entry('subscribe') }],
    ['in the path', 'cosmos', { method: 'GET', resource: 'subscribe?query="tm.event=1"', payload: {} }],
    ['in an encoded path', 'cosmos', { method: 'GET', resource: '/%75nsubscribe_all/', payload: {} }],
    ['in the query', 'cosmos', { method: 'GET', resource: '', payload: { method: 'unsubscribe' } }],
  ] as const)('%s is refused before it is charged, forwarded or paid for', async (_, ecosystem, changes) => {
    const { upstream, ...chain } = await chains()
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 5)
    const { call } = await wallet.signIn()
    const settled = gateway.facilitator.settlements.length
    for (const payment of [undefined, await wallet.pay()]) {
      const answer = await call({
        ecosystem,
        chain_id: chain[ecosystem],
        ...changes,
        ...(payment === undefined ? {} : { payment }),
      })
      expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
      expect((answer.body as { message: string }).message).toMatch(/is not served over HTTP/)
    }
    expect(upstream.requests).toEqual([])
    expect(gateway.facilitator.settlements).toHaveLength(settled)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(5n)
  })

  test('is no REST path that ends in such a word', async () => {
    const { upstream, cosmos } = await chains()
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 5)
    const { call } = await wallet.signIn()
    const rest = { transport: 'rest', method: 'GET', resource: 'module/v1/subscribe', payload: {} }
    await call({ ecosystem: 'cosmos', chain_id: cosmos, ...rest }).expect(200)
    expect(upstream.requests).toHaveLength(1)
  })
})
