import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, startUpstream, type Answer } from '../testing/upstream'

const FREE = 10

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway({ environment: { FREE_REFUSALS_PER_MINUTE: FREE } })))
afterAll(() => auditAndClose(gateway))

async function customer(credits = 100) {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, credits)
  const session = await wallet.signIn()
  const balance = async () => {
    await gateway.ledger.drain()
    return balanceOf(gateway.ledger, wallet.address)
  }
  return { ...session, wallet, balance }
}

const says =
  (body: unknown, type = 'application/json', status = 200): Answer =>
  (res) =>
    res
      .writeHead(status, { 'content-type': type })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
const limited = (id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32_005, message: 'Too many requests' },
})
const tooLarge = (id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32_614, message: 'eth_getLogs is limited to a 10,000 range' },
})
const result = (id: unknown = 1) => ({ jsonrpc: '2.0', id, result: '0x1' })
const entry = (id: unknown = 1, method = 'eth_chainId') => ({ jsonrpc: '2.0', id, method, params: [] })

const page = '<!DOCTYPE html><html><body>Just a moment...</body></html>'

describe('a refusal of a provider', () => {
  const rest = { transport: 'rest', method: 'GET', resource: '/cosmos/x', payload: {} } as const
  test.each<[string, Answer, object]>([
    ['in a JSON-RPC error', says(limited()), {}],
    ['in a page', says(page, 'text/html'), {}],
    ['of a batch, by each entry', says([limited(1), limited(2)]), { payload: [entry(1), entry(2)] }],
    ['of a batch, by one error', says(limited(null)), { payload: [entry(1), entry(2)] }],
    ['over REST, in a page', says(page, 'text/html'), rest],
    ['over REST, in JSON', says({ message: 'API rate limit exceeded' }), rest],
  ])('%s goes to the next provider, and is neither charged nor passed on', async (_, refusal, call) => {
    const refusing = await startUpstream(refusal)
    const serving = await startUpstream(says(result('next')))
    const urls = [refusing.url, serving.url]
    const { call: send, balance } = await customer(10)
    const served = await send({ chain_id: await gateway.chain({ rpc: urls, rest: urls }), ...call })
    expect([served.status, served.body]).toEqual([200, result('next')])

    const alone = await gateway.chain({ rpc: [refusing.url], rest: [refusing.url] })
    const before = await balance()
    const refused = await send({ chain_id: alone, ...call })
    expect(outcomeOf(refused)).toEqual([500, 'UPSTREAM_FAILED'])
    expect(refused.text).not.toMatch(/many|moment|API/)
    expect(await balance()).toBe(before)
  })

  test('of the size of a query gets our words, and does not open the circuit', async () => {
    const limiting = await startUpstream((res, seen, req) =>
      says(seen.body.includes('eth_getLogs') ? tooLarge() : result())(res, seen, req),
    )
    const other = await startUpstream(answers.status(503))
    const chain_id = await gateway.chain(limiting.url, other.url)
    const { call } = await customer()
    for (let calls = 0; calls < 6; calls++) {
      const refused = await call({ chain_id, payload: entry(1, 'eth_getLogs') })
      expect((refused.body as { message: string }).message).toMatch(/block range.*too large/)
    }
    const asked = other.requests.length
    expect((await call({ chain_id })).body).toEqual(result())
    expect(other.requests).toHaveLength(asked)
  })
})

describe('a batch that is refused in part', () => {
  const payload = [entry(1), entry('b', 'dear'), entry(3)]

  const bodies = ({ requests }: { requests: { body: Buffer }[] }) =>
    requests.map(({ body }) => body.toString())

  test('is sent to the next provider without the entries that were served', async () => {
    const exact = '{"jsonrpc":"2.0","id":3,"result":9007199254740993}'
    const first = await startUpstream(
      says(`[${JSON.stringify(limited(1))},${JSON.stringify(limited('b'))},${exact}]`),
    )
    const second = await startUpstream(says([limited('b'), result(1)]))
    const third = await startUpstream(says([result('b')]))
    const { call, balance } = await customer(10)
    const chain_id = await gateway.chain(first.url, second.url, third.url)
    const answer = await call({ chain_id, payload })
    expect(answer.text).toBe(`[${JSON.stringify(result(1))},${JSON.stringify(result('b'))},${exact}]`)
    expect([answer.headers['x-credits-charged'], await balance()]).toEqual(['3', 7n])
    expect([first, second, third].map(bodies)).toEqual([
      [JSON.stringify(payload)],
      [JSON.stringify([entry(1), entry('b', 'dear')])],
      [JSON.stringify([entry('b', 'dear')])],
    ])
  })

  test('has a long answer of the next provider behind the others', async () => {
    const long = { jsonrpc: '2.0', id: 'b', result: 'x'.repeat(400_000) }
    const first = await startUpstream(says([result(1), limited('b'), result(3)]))
    const second = await startUpstream(says([long]))
    const { call } = await customer()
    const answer = await call({ chain_id: await gateway.chain(first.url, second.url), payload })
    expect([answer.body, answer.headers['x-credits-charged']]).toEqual([[result(1), result(3), long], '3'])
    expect(second.requests[0]?.headers['accept-encoding']).toBeUndefined()
  })

  test('says that a query is too large, if the next provider refuses the rest as a whole for that', async () => {
    const first = await startUpstream(says([result(1), limited('b'), result(3)]))
    const second = await startUpstream(says(tooLarge()))
    const { call } = await customer()
    const answer = await call({ chain_id: await gateway.chain(first.url, second.url), payload })
    expect((answer.body as object[])[1]).toMatchObject({
      id: 'b',
      error: { message: expect.stringMatching(/too large/) as string },
    })
  })

  test('is not sent again if it cannot be told which entry was refused', async () => {
    const first = await startUpstream(says([limited(1), result(3)]))
    const second = await startUpstream(says([result(1)]))
    const chain_id = await gateway.chain(first.url, second.url)
    const { call } = await customer()
    const answer = await call({ chain_id, payload: [entry(1), entry(1, 'dear'), entry(3)] })
    expect([second.requests, answer.headers['x-credits-charged']]).toEqual([[], '1'])
  })

  test('costs only what a node answered, and has our error for the rest', async () => {
    const exact = '{"jsonrpc":"2.0","id":3,"result":9007199254740993}'
    const body = `[${JSON.stringify(result(1))}, ${JSON.stringify(limited('b'))}, ${exact}]`
    const upstream = await startUpstream(says(body))
    const chain_id = await gateway.chain({ rpc: [upstream.url], methods: { dear: 5 } })
    const { call, balance, wallet } = await customer(10)
    const answer = await call({ chain_id, payload })
    expect(answer.headers).toMatchObject({ 'x-credits-charged': '2', 'x-credits-remaining': '8' })
    expect(answer.text).toContain(exact)
    expect(answer.text).not.toContain('Too many')
    expect((answer.body as { error?: object }[])[1]).toMatchObject({
      id: 'b',
      error: { code: -32_603, message: expect.stringContaining('given back') as string },
    })
    expect(await balance()).toBe(8n)
    const history = await gateway.api.get(`/history/${wallet.address}`).expect(200)
    expect((history.body as { data: object[] }).data).toMatchObject([{ credits: 2, outcome: 'answered' }])
  })

  test.each([
    ['one error for all', { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'invalid batch' } }],
    ['one response for all', [{ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'invalid batch' } }]],
  ])('by the node itself, with %s, costs one entry and is its answer', async (_, body) => {
    const upstream = await startUpstream(says(body))
    const { call, balance } = await customer(100)
    const many = Array.from({ length: 50 }, (_entry, id) => entry(id + 1))
    const answer = await call({ chain_id: await gateway.chain(upstream.url), payload: many })
    expect([answer.body, answer.headers['x-credits-charged'], await balance()]).toEqual([body, '1', 99n])
  })
})

describe('calls that providers refuse for what they ask', () => {
  const forbidden = (id: unknown = 1) => ({
    jsonrpc: '2.0',
    id,
    error: { code: -32_604, message: 'The method is not in your plan' },
  })
  test.each([
    ['a query that is too large', tooLarge(), /block range.*too large/],
    ['a method outside their plans', forbidden(), /offers this method/],
  ])('are refunded up to a budget by what they cost, then charged: %s', async (_, refusal, words) => {
    const upstream = await startUpstream(says(refusal))
    const chain_id = await gateway.chain({ rpc: [upstream.url], methods: { eth_getLogs: 5 } })
    const { call, balance } = await customer(100)
    const seen: [string | undefined, boolean][] = []
    for (let calls = 0; calls < 4; calls++) {
      const refused = await call({ chain_id, payload: entry(1, 'eth_getLogs') })
      expect(outcomeOf(refused)).toEqual([500, 'UPSTREAM_FAILED'])
      const { message } = refused.body as { message: string }
      expect(message).toMatch(words)
      seen.push([refused.headers['x-credits-charged'], /given back/.test(message)])
    }
    expect(seen).toEqual([
      [undefined, true],
      [undefined, true],
      ['5', false],
      ['5', false],
    ])
    expect(await balance()).toBe(90n)
    const { rows } = await gateway.pool.query<{ outcome: string }>(
      'SELECT outcome FROM usage WHERE chain_id = $1 ORDER BY id',
      [chain_id],
    )
    expect(rows.map(({ outcome }) => outcome)).toEqual([
      ...['upstream_failed', 'upstream_failed', 'upstream_refused', 'upstream_refused'],
    ])
  })

  test('use it up by entries of a batch, which are charged above it; other refusals never are', async () => {
    const upstream = await startUpstream(says([result(1), tooLarge(2), limited(3)]))
    const chain_id = await gateway.chain({ rpc: [upstream.url], methods: { eth_getLogs: 5 } })
    const { call, balance } = await customer(100)
    const payload = [entry(1), entry(2, 'eth_getLogs'), entry(3)]
    const seen: unknown[] = []
    for (let calls = 0; calls < 3; calls++) {
      const answer = await call({ chain_id, payload })
      const messages = (answer.body as { error?: { message: string } }[]).map(({ error }) => error?.message)
      seen.push([
        answer.headers['x-credits-charged'],
        ...messages.map((text) => text && /given back/.test(text)),
      ])
    }
    expect(seen).toEqual([
      ['1', undefined, true, true],
      ['1', undefined, true, true],
      ['6', undefined, false, true],
    ])
    expect(await balance()).toBe(92n)
  })

  test('are counted by wallet', async () => {
    const upstream = await startUpstream(says(tooLarge()))
    const chain_id = await gateway.chain({ rpc: [upstream.url], methods: { eth_getLogs: FREE } })
    const charged: (string | undefined)[] = []
    for (let wallets = 0; wallets < 2; wallets++) {
      const { call } = await customer()
      const refused = await call({ chain_id, payload: entry(1, 'eth_getLogs') })
      charged.push(refused.headers['x-credits-charged'])
    }
    expect(charged).toEqual([undefined, undefined])
  })
})
