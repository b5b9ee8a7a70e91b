import { JsonRpcProvider } from 'ethers'
import { balanceOf } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, startUpstream, type ReceivedRequest } from '../testing/upstream'
import { createCall } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(() => auditAndClose(gateway))

async function customer(credits: number) {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, credits)
  return { ...(await wallet.signIn()), balance: () => balanceOf(gateway.ledger, wallet.address) }
}
const upstreamOn = async () => {
  const upstream = await startUpstream(answers.result())
  return { ...upstream, chain_id: await gateway.chain(upstream.url) }
}

describe('a call with credits', () => {
  test('is forwarded, costs one credit, and reports the balance', async () => {
    const { call, balance } = await customer(10)
    const answer = await call()
    expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
    expect(answer.headers).toMatchObject({ 'x-credits-charged': '1', 'x-credits-remaining': '9' })
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(answer.headers['x-payment-response']).toBeUndefined()
    expect(await balance()).toBe(9n)
  })

  test('is served by a real chain', async () => {
    const rpcUrl = process.env.TEST_EVM_RPC_URL
    if (!rpcUrl) throw new Error('TEST_EVM_RPC_URL is not set: run the tests from the root of the repository')
    const chain_id = await gateway.chain(rpcUrl)
    const { call } = await customer(10)
    const provider = new JsonRpcProvider(rpcUrl)
    const block: unknown = await provider.send('eth_getBlockByNumber', ['0x0', false])
    provider.destroy()
    const payload = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['0x0', false] }
    expect((await call({ chain_id, payload })).body).toEqual({ jsonrpc: '2.0', id: 1, result: block })
  })

  test('is served once by the last credit, of fifty at once on two replicas', async () => {
    const replica = await testGateway({ beside: gateway })
    const upstream = await upstreamOn()
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 1)
    const { token } = await wallet.signIn()
    const calls = [gateway, replica].map(({ api }) => createCall(api, token))
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => calls[index % 2]!({ chain_id: upstream.chain_id })),
    )
    const statuses = outcomes.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 402)).toHaveLength(49)
    expect(upstream.requests).toHaveLength(1)
  })

  test('costs its method’s weight, and is not served for less', async () => {
    const upstream = await startUpstream(answers.result())
    const chain_id = await gateway.chain({ rpc: [upstream.url], methods: { eth_getLogs: 6 } })
    const { call, balance } = await customer(10)
    const payload = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [] }
    const first = await call({ chain_id, payload })
    expect([first.status, first.headers['x-credits-charged'], first.headers['x-credits-remaining']]).toEqual([
      200,
      '6',
      '4',
    ])
    expect((await call({ chain_id, payload })).status).toBe(402)
    expect((await call({ chain_id })).status).toBe(200)
    expect([upstream.requests.length, await balance()]).toEqual([2, 3n])
  })

  test('costs its method’s weight wherever the call names the method', async () => {
    const upstream = await startUpstream(answers.result())
    const chain_id = await gateway.chain({
      rpc: [upstream.url],
      rest: [upstream.url],
      methods: { block_search: 6 },
    })
    const { call } = await customer(100)
    const ways = [
      { method: 'GET', resource: '/block_search/', payload: {} },
      { method: 'GET', resource: 'block%5fsearch?x=1', payload: { method: 'health' } },
      { resource: 'block_search', payload: { jsonrpc: '2.0', id: 1, method: 'health' } },
      { transport: 'rest', payload: { jsonrpc: '2.0', id: 1, method: 'block_search' } },
    ]
    for (const way of ways) {
      const answer = await call({ chain_id, ...way })
      expect([way, answer.status, answer.headers['x-credits-charged']]).toEqual([way, 200, '6'])
    }
  })

  test('that is a batch costs the sum of its entries', async () => {
    const upstream = await startUpstream(answers.result())
    const chain_id = await gateway.chain({ rpc: [upstream.url], methods: { eth_getLogs: 6 } })
    const { call, balance } = await customer(1_020)
    const entry = { jsonrpc: '2.0', id: 1, method: 'eth_call' }
    const mixed = await call({ chain_id, payload: [entry, { ...entry, method: 'eth_getLogs' }, entry] })
    expect([mixed.status, mixed.headers['x-credits-charged']]).toEqual([200, '8'])
    const payload = Array.from({ length: 1_000 }, () => entry)
    const thousand = await call({ chain_id, payload })
    expect([thousand.status, thousand.headers['x-credits-remaining']]).toEqual([200, '12'])
    expect((await call({ chain_id, payload })).status).toBe(402)
    expect(JSON.parse(upstream.requests[1]!.body.toString())).toEqual(payload)
    expect(await balance()).toBe(12n)
  })

  test('reaches the upstream with the exact text of its payload', async () => {
    const upstream = await upstreamOn()
    const { token } = await customer(10)
    const payload =
      '{"jsonrpc":"2.0", "id":9007199254740993,\n "method":"eth_call","params":[1.0,1e2,"\\u00fc"]}'
    const call = {
      ecosystem: 'evm',
      chain_id: upstream.chain_id,
      resource: '',
      method: 'POST',
      transport: 'rpc',
    }
    const body = `{"payload": ${payload} ,${JSON.stringify(call).slice(1)}`
    await gateway.api
      .post('/rpc')
      .set({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
      .send(body)
      .expect(200)
    expect(upstream.requests[0]!.body.toString()).toBe(payload)
  })

  test('by GET reaches the upstream with the exact numbers of its query', async () => {
    const upstream = await upstreamOn()
    const { token } = await customer(10)
    const payload =
      '{"height":9007199254740993, "exact":1.00,"big":1e400, "\\u0068ash":"0x\\u0041 &=b", "empty":"", "deep":{"n": [12345678901234567890]},"none":null}'
    const call = {
      ecosystem: 'evm',
      chain_id: upstream.chain_id,
      resource: 'block?a=1',
      method: 'GET',
      transport: 'rpc',
    }
    await gateway.api
      .post('/rpc')
      .set({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
      .send(`{"payload": ${payload} ,${JSON.stringify(call).slice(1)}`)
      .expect(200)
    expect([...new URL(upstream.requests[0]!.url!, upstream.url).searchParams]).toEqual([
      ['a', '1'],
      ['height', '9007199254740993'],
      ['exact', '1.00'],
      ['big', '1e400'],
      ['hash', '0xA &=b'],
      ['empty', ''],
      ['deep', '{"n": [12345678901234567890]}'],
      ['none', 'null'],
    ])
  })

  test('by GET is encoded in time linear in its members', async () => {
    const upstream = await startUpstream(answers.status(414))
    const chain_id = await gateway.chain(upstream.url)
    const { call } = await customer(10)
    const payload = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, index]))
    const startedAt = performance.now()
    await call({ chain_id, method: 'GET', payload })
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })

  test('forwards no request headers but the accepted media types', async () => {
    const upstream = await upstreamOn()
    const { token, call } = await customer(10)
    const headers = {
      cookie: 'session=hunter2',
      accept: 'application/json',
      'x-forwarded-for': '203.0.113.9',
      'x-custom': 'hunter2',
      'proxy-authorization': 'Basic hunter2',
      referer: 'https://wallet.example/hunter2',
      origin: 'https://wallet.example',
    }
    await call({ chain_id: upstream.chain_id }).set(headers).expect(200)
    const { host, connection, 'content-length': length, ...seen } = upstream.requests[0]!.headers
    expect(seen).toEqual({
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'content-type': 'application/json',
      'user-agent': 'tollgate',
    })
    expect([host, length]).toEqual([new URL(upstream.url).host, String(upstream.requests[0]!.body.length)])
    expect(connection).toBe('keep-alive')
    expect(JSON.stringify(upstream.requests[0]!.headers)).not.toContain(token)
  })

  test('of REST goes to the path below the base URL, with the payload of a GET as query', async () => {
    const upstream = await startUpstream(answers.result())
    const chain_id = await gateway.chain({ rest: [`${upstream.url}/base/`] })
    const { call } = await customer(10)
    const rest = { chain_id, transport: 'rest', resource: '/v1/items?x=1' }
    await call({ ...rest, method: 'GET', payload: { page: 'a b', limit: 5, deep: { y: [1] } } }).expect(200)
    await call({ ...rest, method: 'POST', payload: { page: 1 } }).expect(200)
    const facts = ({ method, url, body }: ReceivedRequest) => [method, url, body.toString()]
    expect(upstream.requests.map(facts)).toEqual([
      ['GET', '/base/v1/items?x=1&page=a+b&limit=5&deep=%7B%22y%22%3A%5B1%5D%7D', ''],
      ['POST', '/base/v1/items?x=1', '{"page":1}'],
    ])
    expect(upstream.requests[0]!.headers['content-type']).toBeUndefined()
  })

  test('goes to the providers of its chain, ecosystem and transport, in their order', async () => {
    const [rpc, rest] = [
      await startUpstream(answers.result('rpc')),
      await startUpstream(answers.result('rest')),
    ]
    const chain_id = await gateway.chain(
      { provider_id: 'a', rest: [rest.url] },
      { provider_id: 'b', rpc: [rpc.url] },
      { provider_id: 'c', rpc: ['http://127.0.0.1:9'], active: false },
      { provider_id: 'd', category: 'cosmos', rpc: ['http://127.0.0.1:9'] },
    )
    const { call, token } = await customer(10)
    expect((await call({ chain_id })).body).toMatchObject({ result: 'rpc' })
    expect((await call({ chain_id, transport: 'rest' })).body).toMatchObject({ result: 'rest' })
    const { rows } = await gateway.pool.query<{ provider_id: string }>(
      'SELECT provider_id FROM usage WHERE chain_id = $1 ORDER BY id',
      [chain_id],
    )
    expect(rows.map(({ provider_id }) => provider_id)).toEqual(['b', 'a'])
    expect(gateway.log.text()).not.toContain(token)
  })

  test('is recorded as done, with its status', async () => {
    const upstream = await startUpstream(answers.status(418))
    const chain_id = await gateway.chain(upstream.url)
    const { call } = await customer(10)
    await call({ chain_id, resource: 'tea' }).expect(418)
    await gateway.ledger.drain()
    const { rows } = await gateway.pool.query('SELECT * FROM usage WHERE chain_id = $1', [chain_id])
    expect(rows).toEqual([
      expect.objectContaining({
        state: 'done',
        status_code: 418,
        resource: 'tea',
        rpc_method: 'eth_blockNumber',
      }),
    ])
  })
})

test('credits of a retired plan can be spent but not bought', async () => {
  gateway.catalog.plans.push(planOf({ id: 4, credits: 5 }))
  await gateway.reapply()
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 2, 4)
  const { call } = await wallet.signIn({ pricing_plan_id: 4 })
  await call().expect(200)
  gateway.catalog.plans.pop()
  await gateway.reapply()
  await call().expect(200)
  expect(outcomeOf(await call())).toEqual([404, 'NOT_FOUND'])
  expect(outcomeOf(await call({ payment: await wallet.pay() }))).toEqual([404, 'NOT_FOUND'])
  expect(gateway.facilitator.calls).toEqual([])
})

test('a client that repeats a payment made before its plan was retired is served on those credits', async () => {
  gateway.catalog.plans.push(planOf({ id: 5, credits: 3 }))
  await gateway.reapply()
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn({ pricing_plan_id: 5 })
  const payment = await wallet.pay()
  await call({ payment }).expect(200)
  gateway.catalog.plans.pop()
  await gateway.reapply()
  await call({ payment }).expect(200)
  await call().expect(200)
  expect(outcomeOf(await call({ payment }))).toEqual([404, 'NOT_FOUND'])
})

test('rate limits are per wallet', async () => {
  const limited = await testGateway({ beside: gateway, environment: { RATE_LIMIT_RPC_PER_MINUTE: 3 } })
  const [often, seldom] = [limited.wallet(), limited.wallet()]
  for (const { address } of [often, seldom]) await gateway.fund(address, 10)
  const { call } = await often.signIn()
  for (let calls = 0; calls < 3; calls++) await call().expect(200)
  const refused = await call()
  expect(outcomeOf(refused)).toEqual([429, 'RATE_LIMITED'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(await balanceOf(gateway.ledger, often.address)).toBe(7n)
  await (await seldom.signIn()).call().expect(200)
})
