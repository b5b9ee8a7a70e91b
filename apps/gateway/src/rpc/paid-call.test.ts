import { JsonRpcProvider } from 'ethers'
import { balanceOf, broken } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { closeAll } from '../testing/closing'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { usdc } from '../testing/payment'
import { answers, startUpstream, type Seen } from '../testing/upstream'
import { callWith } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(
    planOf({ id: 2, network: 'house-chain', chain_id: '777' }),
    planOf({
      id: 3,
      network: 'osmosis-1',
      chain_id: 'osmosis-1',
      ecosystem: 'cosmos',
      asset_address: 'uosmo',
      pay_to: 'osmo1payee',
    }),
    planOf({ id: 4, plan_name: 'Outgoing', credits: 5 }),
  )
  await gateway.reapply()
})
afterAll(async () => {
  await gateway.ledger.drained()
  expect(await broken(gateway.pool)).toEqual([])
  await closeAll()
})

/** A wallet with credits on plan 1, signed in. */
async function customer(credits: number) {
  const wallet = gateway.wallet()
  if (credits > 0) await gateway.fund(wallet.address, credits)
  return { ...(await wallet.signIn()), balance: () => balanceOf(gateway.ledger, wallet.address) }
}
const upstreamOn = async () => {
  const upstream = await startUpstream(answers.result())
  return { ...upstream, chain_id: await gateway.chain(upstream.url) }
}

describe('a call without credits', () => {
  const requirements = {
    scheme: 'exact',
    network: '84532',
    asset: usdc,
    maxAmountRequired: '10000',
    mimeType: 'application/json',
    payTo: planOf().pay_to,
    maxTimeoutSeconds: 60,
    description: '100 credits for RPC calls (plan Starter)',
  }

  test('is answered 402 with the requirements, ours and those of x402 version 1, that nobody may keep', async () => {
    const { call } = await customer(0)
    const asked = gateway.upstream.asked.length
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.body).toEqual({
      status: 402,
      message: 'No credits left on plan 1; pay 0.01 USDC and send the signed payment in X-PAYMENT',
      paymentRequirements: requirements,
      x402Version: 1,
      error: 'X-PAYMENT header is required',
      accepts: [
        {
          ...requirements,
          network: 'base-sepolia',
          resource: 'https://gateway.example/rpc',
          extra: { name: 'USDC', version: '2' },
        },
      ],
    })
    expect(gateway.upstream.asked).toHaveLength(asked)
  })

  test.each([
    ['a network that x402 version 1 does not know', { pricing_plan_id: 2, x402_chain_id: '777' }, '777'],
    [
      'another ecosystem',
      { pricing_plan_id: 3, x402_chain_id: 'osmosis-1', x402_ecosystem: 'cosmos' },
      'osmosis-1',
    ],
  ])('on a plan of %s is not offered what would confuse its clients', async (_, login, network) => {
    const { call } = await gateway.wallet().signIn(login)
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(answer.body).toMatchObject({ status: 402, paymentRequirements: { network } })
    for (const member of ['accepts', 'x402Version', 'error']) expect(answer.body).not.toHaveProperty(member)
  })
})

describe('a call with credits', () => {
  test('is forwarded, costs one, and says what is left', async () => {
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

  test('is one of fifty at once on two replicas, of which one is served on the last credit', async () => {
    const replica = await testGateway({ beside: gateway })
    const upstream = await upstreamOn()
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 1)
    const { token } = await wallet.signIn()
    const calls = [gateway, replica].map(({ api }) => callWith(api, token))
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => calls[index % 2]!({ chain_id: upstream.chain_id })),
    )
    const statuses = outcomes.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 402)).toHaveLength(49)
    expect(upstream.asked).toHaveLength(1)
  })

  test('costs its method’s weight, and is not served on less', async () => {
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
    expect([upstream.asked.length, await balance()]).toEqual([2, 3n])
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
    expect(JSON.parse(upstream.asked[1]!.body.toString())).toEqual(payload)
    expect(await balance()).toBe(12n)
  })

  test('reaches the upstream with its payload as it was written, to the last digit', async () => {
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
    expect(upstream.asked[0]!.body.toString()).toBe(payload)
  })

  test('takes none of its headers along but what it accepts', async () => {
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
    const { host, connection, 'content-length': length, ...seen } = upstream.asked[0]!.headers
    expect(seen).toEqual({
      accept: 'application/json',
      'accept-encoding': 'gzip, deflate',
      'content-type': 'application/json',
      'user-agent': 'tollgate',
    })
    expect([host, length]).toEqual([new URL(upstream.url).host, String(upstream.asked[0]!.body.length)])
    expect(connection).toBe('keep-alive')
    expect(JSON.stringify(upstream.asked[0]!.headers)).not.toContain(token)
  })

  test('of REST goes to the path below the base URL, its payload as query where it is a GET', async () => {
    const upstream = await startUpstream(answers.result())
    const chain_id = await gateway.chain({ rest: [`${upstream.url}/base/`] })
    const { call } = await customer(10)
    const rest = { chain_id, transport: 'rest', resource: '/v1/items?x=1' }
    await call({ ...rest, method: 'GET', payload: { page: 'a b', limit: 5, deep: { y: [1] } } }).expect(200)
    await call({ ...rest, method: 'POST', payload: { page: 1 } }).expect(200)
    const facts = ({ method, url, body }: Seen) => [method, url, body.toString()]
    expect(upstream.asked.map(facts)).toEqual([
      ['GET', '/base/v1/items?x=1&page=a+b&limit=5&deep=%7B%22y%22%3A%5B1%5D%7D', ''],
      ['POST', '/base/v1/items?x=1', '{"page":1}'],
    ])
    expect(upstream.asked[0]!.headers['content-type']).toBeUndefined()
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

  test('is written down as done, with its status', async () => {
    const upstream = await startUpstream(answers.status(418))
    const chain_id = await gateway.chain(upstream.url)
    const { call } = await customer(10)
    await call({ chain_id, resource: 'tea' }).expect(418)
    await gateway.ledger.drained()
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

describe('a call that is refused takes nothing', () => {
  const rows: [string, object, (string | number)[]][] = [
    ['to a chain that nobody serves', { chain_id: 'nowhere' }, [404, 'NOT_FOUND']],
    ['to an ecosystem that does not serve the chain', { ecosystem: 'cosmos' }, [404, 'NOT_FOUND']],
    ['to an unknown ecosystem', { ecosystem: 'solana' }, [400, 'INVALID_REQUEST']],
    ['with a method that is not forwarded', { method: 'DELETE' }, [400, 'INVALID_REQUEST']],
    ['over a transport there is not', { transport: 'ws' }, [400, 'INVALID_REQUEST']],
    ['with an empty batch', { payload: [] }, [400, 'INVALID_REQUEST']],
    ['with a batch of something else', { payload: [1, 2] }, [400, 'INVALID_REQUEST']],
    ['with a payload that is no object', { payload: 'x' }, [400, 'INVALID_REQUEST']],
    ['without a payload', { payload: undefined }, [400, 'INVALID_REQUEST']],
    ['without a resource', { resource: undefined }, [400, 'INVALID_REQUEST']],
    ['to a resource above its base URL', { resource: '../x' }, [400, 'INVALID_REQUEST']],
    ['to a resource that is an address', { resource: 'http://169.254.169.254/' }, [400, 'INVALID_REQUEST']],
    ['to a resource that is an encoded way up', { resource: '%2e%2e/x' }, [400, 'INVALID_REQUEST']],
    ['to a resource with a line break', { resource: 'x\r\nHost: evil' }, [400, 'INVALID_REQUEST']],
    ['to a resource without end', { resource: 'x'.repeat(2_049) }, [400, 'INVALID_REQUEST']],
  ]
  test.each(rows)('%s', async (_, changes, refusal) => {
    const { call, balance } = await customer(10)
    const asked = gateway.upstream.asked.length
    expect(outcomeOf(await call(changes))).toEqual(refusal)
    expect([await balance(), gateway.upstream.asked.length]).toEqual([10n, asked])
  })

  test('over a transport that the chain’s providers lack', async () => {
    const chain_id = await gateway.chain({ rpc: [gateway.upstream.url] })
    const { call, balance } = await customer(10)
    expect(outcomeOf(await call({ chain_id, transport: 'rest' }))).toEqual([404, 'NOT_FOUND'])
    expect(await balance()).toBe(10n)
  })

  test('to a provider that was retired', async () => {
    const chain_id = await gateway.chain(gateway.upstream.url)
    const { call } = await customer(10)
    await call({ chain_id }).expect(200)
    gateway.catalog.providers.pop()
    await gateway.reapply()
    expect(outcomeOf(await call({ chain_id }))).toEqual([404, 'NOT_FOUND'])
  })

  test('with a method whose name no database takes, and spoils no other call', async () => {
    const { call } = await customer(100)
    const payload = { jsonrpc: '2.0', id: 1, method: 'eth\u0000call', params: [] }
    const answers = await Promise.all([
      call(),
      call({ payload }),
      call({ payload: [payload] }),
      call(),
      call(),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })

  test('too dear for any balance, and spoils no other call', async () => {
    const chain_id = await gateway.chain({ rpc: [gateway.upstream.url], methods: { dear: 1_000_000 } })
    const { call } = await customer(100)
    const payload = Array.from({ length: 3_000 }, () => ({ method: 'dear' }))
    const [fine, dear, also] = await Promise.all([call(), call({ chain_id, payload }), call()])
    expect([fine.status, outcomeOf(dear), also.status]).toEqual([200, [400, 'INVALID_REQUEST'], 200])
  })
})

test('credits of a retired plan are spent to the last, and none are sold', async () => {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 2, 4)
  const { call } = await wallet.signIn({ pricing_plan_id: 4 })
  await call().expect(200)
  gateway.catalog.plans.pop()
  await gateway.reapply()
  await call().expect(200)
  expect(outcomeOf(await call())).toEqual([404, 'NOT_FOUND'])
  expect(outcomeOf(await call({ payment: await wallet.pay() }))).toEqual([404, 'NOT_FOUND'])
  expect(gateway.facilitator.asked).toEqual([])
})

test('a wallet that calls too often is told to wait, and another is not', async () => {
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
