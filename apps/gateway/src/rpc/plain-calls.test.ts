import { balanceOf } from '../testing/accounts'
import { cosmosPlanOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { blockNumber, offerIn, post } from '../testing/plain'
import { answers, getRefusingUrl, startUpstream, type Answer } from '../testing/upstream'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
})
afterAll(() => auditAndClose(gateway))

const echo: Answer = (res, seen) =>
  res
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ method: seen.method, url: seen.url, body: seen.body.toString() }))

async function customer(credits = 10) {
  const wallet = gateway.wallet()
  if (credits > 0) await gateway.fund(wallet.address, credits)
  const { token } = await wallet.signIn()
  return {
    authorization: `Bearer ${token}`,
    balance: () => balanceOf(gateway.ledger, wallet.address),
  }
}

describe('POST /v1/{chain}', () => {
  test.each(['84532', 'eip155:84532', 'base-sepolia', 'eip155%3A84532'])(
    'serves a JSON-RPC call at the name %s, for one credit',
    async (name) => {
      const { authorization, balance } = await customer()
      const answer = await post(gateway.api, `/v1/${name}`, blockNumber, { authorization })
      expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
      expect(answer.headers).toMatchObject({ 'x-credits-charged': '1', 'x-credits-remaining': '9' })
      expect(await balance()).toBe(9n)
    },
  )

  test('forwards the body byte for byte, and a batch for the sum of its entries', async () => {
    const upstream = await startUpstream(echo)
    const chain = await gateway.chain(upstream.url)
    const { authorization, balance } = await customer()
    const text = '[{"id":12345678901234567890,"method":"a"},\n {"method":"b", "params":[1.0]}]'
    const answer = await post(gateway.api, `/v1/${chain}`, ` ${text}\n`, { authorization })
    expect(answer.body).toEqual({ method: 'POST', url: '/', body: text })
    expect(await balance()).toBe(8n)
  })

  test.each([
    ['no JSON', '{"method":', { id: null, error: -32_700 }],
    ['an empty body', '', { id: null, error: -32_600 }],
    ['two members of one name', '{"method":"a","method":"b","id":7}', { id: null, error: -32_700 }],
    ['no object', '5', { id: null, error: -32_600 }],
    ['an empty batch', '[]', { id: null, error: -32_600 }],
    ['no method', '{"id":7}', { id: 7, error: -32_600 }],
    ['a method in capital letters', '{"id":"x","method":"a","METHOD":"b"}', { id: 'x', error: -32_600 }],
  ])('%s is a JSON-RPC error, and free', async (_, text, { id, error }) => {
    const { authorization, balance } = await customer(1)
    const answer = await post(gateway.api, '/v1/84532', text, { authorization })
    expect([answer.status, answer.body]).toEqual([
      200,
      { jsonrpc: '2.0', id, error: { code: error, message: expect.any(String) as string } },
    ])
    expect(await balance()).toBe(1n)
  })

  test.each([
    ['[1]', [null]],
    ['[1,2,3]', [null, null, null]],
    ['[[],{"foo":"boo"},{"jsonrpc":"2.0","method":1,"params":"bar"}]', [null, null, null]],
    [
      '[{"id":9007199254740993},{"id":"a","method":"b"},{"method":"c"},"d"]',
      ['9007199254740993', '"a"', null],
    ],
  ])('each entry of the batch %s has its own error -32600, and all is free', async (text, ids) => {
    const { authorization, balance } = await customer(4)
    const answer = await post(gateway.api, '/v1/84532', text, { authorization })
    const errors = [...answer.text.matchAll(/"id":([^,]+),"error":\{"code":(-\d+),"message":"([^"]*)"/g)]
    expect(errors.map(([, id, code]) => [id, code])).toEqual(ids.map((id) => [String(id), '-32600']))
    expect(answer.body).toHaveLength(ids.length)
    const unsent = errors.filter(([, , , message]) => message?.startsWith('The batch was not sent'))
    expect(unsent.map(([, id]) => id)).toEqual(ids.filter((id) => id === '"a"'))
    expect(await balance()).toBe(4n)
  })

  test.each(['application/json-rpc', 'application/jsonrequest;charset=utf-8', 'application/x+json'])(
    'a call of the type %s is served, and reaches the node as JSON',
    async (type) => {
      const upstream = await startUpstream(answers.result())
      const chain = await gateway.chain(upstream.url)
      const { authorization } = await customer()
      await post(gateway.api, `/v1/${chain}`, blockNumber, { authorization, 'content-type': type }).expect(
        200,
      )
      expect(upstream.requests.map(({ headers }) => headers['content-type'])).toEqual(['application/json'])
    },
  )

  test('a method that is not served over HTTP is -32601, the rest of its batch -32600, and all is free', async () => {
    const { authorization, balance } = await customer(4)
    const ask = async (body: unknown) => {
      const { status, text } = await post(gateway.api, '/v1/84532', body, { authorization })
      return [status, [JSON.parse(text)].flat()]
    }
    const message = (text: string) => expect.stringMatching(text) as string
    const refused = (id: string | number, method: string) => ({
      jsonrpc: '2.0',
      id,
      error: { code: -32_601, message: message(`^payload: ${method} is not served .*nothing was charged$`) },
    })
    const unsent = {
      code: -32_600,
      message: message('^The batch was not sent.* eth_subscribe .*nothing was charged$'),
    }
    expect(await ask({ id: 3, method: 'eth_subscribe' })).toEqual([200, [refused(3, 'eth_subscribe')]])
    expect(
      await ask([
        { method: 'eth_blockNumber' },
        { id: 'a', method: 'eth_blockNumber' },
        { id: 'b', method: 'eth_subscribe' },
        { id: 'c', method: 'eth_unsubscribe' },
      ]),
    ).toEqual([
      200,
      [
        { jsonrpc: '2.0', id: 'a', error: unsent },
        refused('b', 'eth_subscribe'),
        refused('c', 'eth_unsubscribe'),
      ],
    ])
    expect(await balance()).toBe(4n)
  })

  test('an error has the id with all its digits, before and after the call was forwarded', async () => {
    const chain = await gateway.chain(await getRefusingUrl())
    const { authorization } = await customer(4)
    const ids = ['18446744073709551615', '1e400']
    for (const method of ['eth_subscribe', 'eth_call']) {
      const batch = `[${ids.map((id) => `{"id":${id},"method":"${method}"}`).join()}]`
      const answer = await post(gateway.api, `/v1/${chain}`, batch, { authorization })
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect([...answer.text.matchAll(/"id":([^,]+)/g)].map(([, id]) => id)).toEqual(ids)
    }
    const invalid = await post(gateway.api, `/v1/${chain}`, `{"id":${ids[0]}}`, { authorization })
    expect(invalid.text).toContain(`"id":${ids[0]},"error":{"code":-32600`)
  })

  test('a method that the node does not know is refunded', async () => {
    const unknown = { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'no such method' } }
    const upstream = await startUpstream((res) => res.end(JSON.stringify(unknown)))
    const chain = await gateway.chain(upstream.url)
    const { authorization, balance } = await customer(2)
    const answer = await post(gateway.api, `/v1/${chain}`, { id: 1, method: 'no_such' }, { authorization })
    expect(JSON.parse(answer.text)).toEqual(unknown)
    expect(answer.headers).toMatchObject({ 'x-credits-charged': '0', 'x-credits-remaining': '2' })
    expect(await balance()).toBe(2n)
  })

  test('an upstream that does not answer is a JSON-RPC error with the id of each call, and refunded', async () => {
    const chain = await gateway.chain(await getRefusingUrl())
    const { authorization, balance } = await customer(5)
    const error = { code: -32_603, message: expect.any(String) as string }
    const batch = [{ id: 1, method: 'a' }, { method: 'b' }, { id: 'c', method: 'c' }]
    const answer = await post(gateway.api, `/v1/${chain}`, batch, { authorization })
    expect([answer.status, answer.body]).toEqual([200, [1, 'c'].map((id) => ({ jsonrpc: '2.0', id, error }))])
    const notification = await post(gateway.api, `/v1/${chain}`, { method: 'a' }, { authorization })
    expect([notification.status, notification.text]).toEqual([204, ''])
    expect(await balance()).toBe(5n)
  })

  test('refuses a bad token, an unknown chain and a path that is no method', async () => {
    const { authorization } = await customer()
    const bad = await post(gateway.api, '/v1/84532', blockNumber, { authorization: 'Bearer abc' })
    expect(outcomeOf(bad)).toEqual([401, 'INVALID_TOKEN'])
    expect(outcomeOf(await post(gateway.api, '/v1/nowhere', blockNumber, { authorization }))).toEqual([
      404,
      'NOT_FOUND',
    ])
    const path = await post(gateway.api, '/v1/84532/admin', blockNumber, { authorization })
    expect(outcomeOf(path)).toEqual([404, 'NOT_FOUND'])
    const got = await gateway.api.get('/v1/84532').set({ authorization })
    expect([...outcomeOf(got), got.headers.allow]).toEqual([405, 'METHOD_NOT_ALLOWED', 'POST'])
  })

  test('asks a session without credits for the price of its plan', async () => {
    const { authorization } = await customer(0)
    const answer = await post(gateway.api, '/v1/84532', blockNumber, { authorization })
    expect(answer.status).toBe(402)
    expect(answer.body).toMatchObject({ status: 402, paymentRequirements: { network: '84532' } })
    expect(offerIn(answer).resource.url).toBe('https://gateway.example/v1/eip155:84532')
  })
})

describe('a REST call and a call by the URI of a method', () => {
  test('go to the node with method, path, query and body as they came', async () => {
    const upstream = await startUpstream(echo)
    const chain = await cosmosChain(upstream.url)
    const { authorization } = await customer()
    const get = (path: string) => gateway.api.get(`/v1/${chain}${path}`).set({ authorization })
    expect((await get('/rest/cosmos/bank?a=1&a=%22x%22')).body).toMatchObject({
      method: 'GET',
      url: '/cosmos/bank?a=1&a=%22x%22',
    })
    const search =
      '/tx_search?query=%22tx.height%3E0%20AND%20message.action%3D%27%2Fcosmos.bank%27%22&x=a/../b'
    expect((await get(search)).body).toMatchObject({ method: 'GET', url: search.replaceAll("'", '%27') })
    const asked = await gateway.api
      .post('/rpc')
      .set({ authorization })
      .send({
        ecosystem: 'cosmos',
        chain_id: chain,
        resource: search,
        method: 'GET',
        transport: 'rpc',
        payload: { order: '"a b/../c@d"' },
      })
    expect(asked.body).toMatchObject({ url: `${search}&order=%22a+b%2F..%2Fc%40d%22` })
    expect((await get('/block?height=%225%22')).body).toMatchObject({
      method: 'GET',
      url: '/block?height=%225%22',
    })
    const posted = await post(gateway.api, `/v1/${chain}/rest/cosmos/tx`, '{"tx_bytes": 1.0}', {
      authorization,
    })
    expect(posted.body).toEqual({ method: 'POST', url: '/cosmos/tx', body: '{"tx_bytes": 1.0}' })
  })

  test('cannot leave the base URL', async () => {
    const upstream = await startUpstream(echo)
    const chain = await cosmosChain(`${upstream.url}/base`)
    const { authorization, balance } = await customer(1)
    for (const path of ['/rest/%2e%2e/x', '/rest//evil', '/rest/a%5cb', '/%2e%2e%2fx', '/@evil'])
      expect(outcomeOf(await gateway.api.get(`/v1/${chain}${path}`).set({ authorization }))).toEqual([
        400,
        'INVALID_REQUEST',
      ])
    expect(upstream.requests).toEqual([])
    expect(await balance()).toBe(1n)
  })

  async function cosmosChain(url: string) {
    return gateway.chain({ category: 'cosmos', rpc: [url], rest: [url] })
  }
})

describe('without credentials', () => {
  test.each(['get', 'post'] as const)('%s answers 402 with each plan and transfer method', async (method) => {
    gateway.catalog.plans.push(cosmosPlanOf({ id: 2 }))
    await gateway.reapply()
    const answer = await gateway.api[method]('/v1/base-sepolia')
    expect(answer.status).toBe(402)
    expect(answer.headers['cache-control']).toBe('no-store')
    const resource = 'https://gateway.example/v1/eip155:84532'
    const offer = offerIn(answer)
    expect(offer.resource.url).toBe(resource)
    expect(offer.accepts.map(({ network, extra }) => [network, extra])).toEqual([
      ['eip155:84532', { name: 'USDC', version: '2', paymentFlow: 'upfront' }],
      [
        'eip155:84532',
        { name: 'USDC', version: '2', paymentFlow: 'upfront', assetTransferMethod: 'permit2' },
      ],
      [
        'cosmos:osmosis-1',
        { feePayer: expect.any(String) as string, feePayerSigns: true, paymentFlow: 'upfront' },
      ],
    ])
    const { accepts, x402Version } = answer.body as { accepts: { resource: string }[]; x402Version: number }
    expect([x402Version, accepts.map((entry) => entry.resource)]).toEqual([1, [resource]])
    gateway.catalog.plans.pop()
    await gateway.reapply()
  })

  test.each([
    ['nowhere', 'No provider serves this chain; see GET /providers'],
    ['{chain}', 'Put a chain, such as base-sepolia, in the place of {chain}; see GET /providers'],
    ['%7Bchain%7D', 'Put a chain, such as base-sepolia, in the place of {chain}; see GET /providers'],
  ])('the unknown chain %s is 404, with or without a key', async (chain, message) => {
    for (const path of [`/v1/${chain}`, `/v1/${chain}/tgk_${'a'.repeat(43)}`]) {
      const answer = await post(gateway.api, path, blockNumber)
      expect([answer.status, answer.body]).toEqual([404, { code: 'NOT_FOUND', message }])
    }
  })

  test('a body without credentials is not read', async () => {
    expect((await post(gateway.api, '/v1/84532', 'no JSON')).status).toBe(402)
  })
})

test('/rpc takes the three names of a chain too', async () => {
  const { authorization } = await customer()
  for (const chain_id of ['84532', 'eip155:84532', 'base-sepolia'])
    await gateway.api
      .post('/rpc')
      .set({ authorization })
      .send({
        ecosystem: 'evm',
        chain_id,
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload: blockNumber,
      })
      .expect(200)
})

test('an answer that is not JSON-RPC, and its status, come back as they came', async () => {
  const upstream = await startUpstream(answers.status(404, 'no such thing'))
  const chain = await gateway.chain(upstream.url)
  const { authorization } = await customer()
  const answer = await post(gateway.api, `/v1/${chain}`, blockNumber, { authorization })
  expect([answer.status, answer.text]).toEqual([404, 'no such thing'])
})
