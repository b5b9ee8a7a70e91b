import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, startUpstream, type Answer } from '../testing/upstream'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
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
    const error = { code: -32_614, message: 'eth_getLogs is limited to a 10,000 range' }
    const limiting = await startUpstream((res, seen, req) =>
      says(seen.body.includes('eth_getLogs') ? { jsonrpc: '2.0', id: 1, error } : result())(res, seen, req),
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

  test('is served whole by the next provider', async () => {
    const first = await startUpstream(says([result(1), limited('b'), result(3)]))
    const second = await startUpstream(says([result(1), result('b'), result(3)]))
    const { call } = await customer()
    const answer = await call({ chain_id: await gateway.chain(first.url, second.url), payload })
    expect([answer.body, answer.headers['x-credits-charged']]).toEqual([
      [result(1), result('b'), result(3)],
      '3',
    ])
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
