import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, getRefusingUrl, startUpstream, type Answer } from '../testing/upstream'
import { createCall } from '../testing/wallet'

const FREE = 3
/** Too short for the second upstream on a busy machine, so only for tests that expect no answer. */
const TIMEOUT_SECONDS = 0.3
const SLOW_TIMEOUT_SECONDS = 3

let gateway: TestGateway
beforeAll(async () => {
  const environment = { UPSTREAM_TIMEOUT_SECONDS: TIMEOUT_SECONDS, FREE_TIMEOUTS_PER_MINUTE: FREE }
  gateway = await testGateway({ environment })
})
afterAll(() => auditAndClose(gateway))

async function customer(credits = 100) {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, credits)
  return { ...(await wallet.signIn()), balance: () => balanceOf(gateway.ledger, wallet.address) }
}

const many = (count: number, answer: Answer) =>
  Promise.all(Array.from({ length: count }, () => startUpstream(answer)))
const requestCounts = (upstreams: { requests: unknown[] }[]) =>
  upstreams.map(({ requests }) => requests.length)
const urlsOf = (upstreams: { url: string }[]) => upstreams.map(({ url }) => url)

describe('a read that times out', () => {
  test('is sent to one more provider, and to no other URL of the first', async () => {
    const [first, second, third] = await Promise.all([3, 2, 1].map((urls) => many(urls, answers.hang)))
    const chain_id = await gateway.chain(
      { provider_id: 'a', rpc: urlsOf(first!) },
      { provider_id: 'b', rpc: urlsOf(second!) },
      { provider_id: 'c', rpc: urlsOf(third!) },
    )
    const { call } = await customer()
    expect(outcomeOf(await call({ chain_id }))).toEqual([500, 'UPSTREAM_FAILED'])
    expect([requestCounts(first!), requestCounts(second!), requestCounts(third!)]).toEqual([
      [1, 0, 0],
      [1, 0],
      [0],
    ])
  })

  test('is sent to one more URL if there is no other provider', async () => {
    const upstreams = await many(3, answers.hang)
    const { call } = await customer()
    const chain_id = await gateway.chain({ rpc: urlsOf(upstreams) })
    expect(outcomeOf(await call({ chain_id }))).toEqual([500, 'UPSTREAM_FAILED'])
    expect(requestCounts(upstreams)).toEqual([1, 1, 0])
  })

  test('is served by the next provider that can be reached', async () => {
    const slowGateway = await testGateway({
      beside: gateway,
      environment: { UPSTREAM_TIMEOUT_SECONDS: SLOW_TIMEOUT_SECONDS },
    })
    const hanging = await startUpstream(answers.hang)
    const serving = await startUpstream(answers.result('0x2'))
    const chain_id = await gateway.chain(
      { provider_id: 'a', rpc: [hanging.url, serving.url] },
      { provider_id: 'b', rpc: [await getRefusingUrl()] },
      { provider_id: 'c', rpc: [(await startUpstream(answers.result('0x3'))).url] },
    )
    const { token } = await customer()
    const answer = await createCall(slowGateway.api, token)({ chain_id })
    expect([answer.body, answer.headers['x-credits-charged']]).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x3' },
      '1',
    ])
    expect(serving.requests).toEqual([])
  })

  test('reported by the provider itself is also sent to one more', async () => {
    const [first, second, third] = await many(3, answers.status(504))
    const chain_id = await gateway.chain(
      { provider_id: 'a', rpc: [first!.url] },
      { provider_id: 'b', rpc: [second!.url] },
      { provider_id: 'c', rpc: [third!.url] },
    )
    const { call } = await customer()
    expect(outcomeOf(await call({ chain_id }))).toEqual([500, 'UPSTREAM_FAILED'])
    expect(requestCounts([first!, second!, third!])).toEqual([1, 1, 0])
  })
})

const slow504: Answer = (...asked) => setTimeout(() => answers.status(504)(...asked), TIMEOUT_SECONDS * 700)

describe('the calls of a wallet that time out', () => {
  test.each([
    ['here', answers.hang, {}],
    ['at the provider', slow504, {}],
    ['and may have been executed', answers.hang, { method: 'eth_sendTransaction' }],
  ])(
    '%s are refunded up to a budget per minute over all replicas, then charged',
    async (_, answer, changes) => {
      const replica = await testGateway({
        beside: gateway,
        environment: { UPSTREAM_TIMEOUT_SECONDS: TIMEOUT_SECONDS, FREE_TIMEOUTS_PER_MINUTE: FREE },
      })
      const replicas = process.env.TEST_REDIS_URL ? [gateway, replica] : [gateway]
      const chain_id = await gateway.chain((await startUpstream(answer)).url)
      const { token, balance } = await customer(100)
      const charged: (string | undefined)[] = []
      for (let calls = 0; calls < FREE + 2; calls++) {
        const { api } = replicas[calls % replicas.length]!
        const payload = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [], ...changes }
        const refused = await createCall(api, token)({ chain_id, payload })
        expect(outcomeOf(refused)).toEqual([500, 'UPSTREAM_FAILED'])
        expect((refused.body as { message: string }).message).toMatch(
          calls < FREE ? /given back/ : /this one was charged/,
        )
        charged.push(refused.headers['x-credits-charged'])
      }
      expect(charged).toEqual([undefined, undefined, undefined, '1', '1'])
      await Promise.all([gateway.ledger.drain(), replica.ledger.drain()])
      expect(await balance()).toBe(98n)
      const { rows } = await gateway.pool.query<{ state: string; outcome: string }>(
        'SELECT state, outcome FROM usage WHERE chain_id = $1 ORDER BY id',
        [chain_id],
      )
      expect(rows.map(({ state, outcome }) => `${state} ${outcome}`)).toEqual([
        ...Array<string>(FREE).fill('refunded upstream_failed'),
        'done upstream_timeout',
        'done upstream_timeout',
      ])
    },
  )

  test('use up the budget by what they cost, a batch by each entry', async () => {
    const chain_id = await gateway.chain((await startUpstream(answers.hang)).url)
    const { call, balance } = await customer(100)
    const batch = (entries: number) =>
      Array.from({ length: entries }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_call', params: [] }))
    const charged: (string | undefined)[] = []
    for (const entries of [FREE - 1, 30, 1])
      charged.push((await call({ chain_id, payload: batch(entries) })).headers['x-credits-charged'])
    expect(charged).toEqual([undefined, '30', '1'])
    await gateway.ledger.drain()
    expect(await balance()).toBe(69n)
  })

  test('are free the first time, whatever they cost', async () => {
    const chain_id = await gateway.chain((await startUpstream(answers.hang)).url)
    const { call, balance } = await customer(100)
    const payload = Array.from({ length: 30 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_call',
      params: [],
    }))
    const charged: (string | undefined)[] = []
    for (let times = 0; times < 2; times++)
      charged.push((await call({ chain_id, payload })).headers['x-credits-charged'])
    expect(charged).toEqual([undefined, '30'])
    await gateway.ledger.drain()
    expect(await balance()).toBe(70n)
  })

  test("use up no other wallet's budget, and other failures use up none", async () => {
    const hanging = await gateway.chain((await startUpstream(answers.hang)).url)
    const failing = await gateway.chain((await startUpstream(answers.status(503))).url)
    const away = await gateway.chain((await startUpstream(answers.status(504))).url)
    const [often, seldom] = [await customer(), await customer()]
    for (let calls = 0; calls < FREE + 1; calls++) await often.call({ chain_id: hanging })
    for (let calls = 0; calls < FREE + 1; calls++) await seldom.call({ chain_id: failing })
    for (let calls = 0; calls < FREE + 1; calls++) await seldom.call({ chain_id: away })
    expect((await seldom.call({ chain_id: hanging })).headers['x-credits-charged']).toBeUndefined()
    expect((await often.call({ chain_id: failing })).headers['x-credits-charged']).toBeUndefined()
    await gateway.ledger.drain()
    expect([await often.balance(), await seldom.balance()]).toEqual([99n, 100n])
  })
})
