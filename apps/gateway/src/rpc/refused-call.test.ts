import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { blockNumberCall } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(() => auditAndClose(gateway))

async function customer(credits: number) {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, credits)
  return { ...(await wallet.signIn()), balance: () => balanceOf(gateway.ledger, wallet.address) }
}

describe('a refused call costs nothing', () => {
  const rows: [string, object, (string | number)[]][] = [
    ['to a chain without a provider', { chain_id: 'nowhere' }, [404, 'NOT_FOUND']],
    ['to an ecosystem that does not serve the chain', { ecosystem: 'cosmos' }, [404, 'NOT_FOUND']],
    ['to an unknown ecosystem', { ecosystem: 'solana' }, [400, 'INVALID_REQUEST']],
    ['with a method that is not forwarded', { method: 'DELETE' }, [400, 'INVALID_REQUEST']],
    ['over an unknown transport', { transport: 'ws' }, [400, 'INVALID_REQUEST']],
    ['with an empty batch', { payload: [] }, [400, 'INVALID_REQUEST']],
    ['with a batch of something else', { payload: [1, 2] }, [400, 'INVALID_REQUEST']],
    ['with a batch inside a batch', { payload: [[{ method: 'eth_call' }]] }, [400, 'INVALID_REQUEST']],
    ['with a batch by GET', { method: 'GET', payload: [{ method: 'eth_call' }] }, [400, 'INVALID_REQUEST']],
    [
      'with METHOD in other letter case',
      { payload: { Method: 'debug_traceTransaction' } },
      [400, 'INVALID_REQUEST'],
    ],
    [
      'with a method in two letter cases',
      { payload: [{ method: 'eth_call', METHOD: 'debug_traceTransaction' }] },
      [400, 'INVALID_REQUEST'],
    ],
    ['with a payload that is not an object', { payload: 'x' }, [400, 'INVALID_REQUEST']],
    ['without a payload', { payload: undefined }, [400, 'INVALID_REQUEST']],
    ['without a resource', { resource: undefined }, [400, 'INVALID_REQUEST']],
    ['to a resource above its base URL', { resource: '../x' }, [400, 'INVALID_REQUEST']],
    ['to a resource that is an address', { resource: 'http://169.254.169.254/' }, [400, 'INVALID_REQUEST']],
    ['to an encoded path above its base URL', { resource: '%2e%2e/x' }, [400, 'INVALID_REQUEST']],
    ['to a resource with a line break', { resource: 'x\r\nHost: evil' }, [400, 'INVALID_REQUEST']],
    ['to an oversized resource', { resource: 'x'.repeat(2_049) }, [400, 'INVALID_REQUEST']],
  ]
  test.each(rows)('%s', async (_, changes, refusal) => {
    const { call, balance } = await customer(10)
    const asked = gateway.upstream.requests.length
    expect(outcomeOf(await call(changes))).toEqual(refusal)
    expect([await balance(), gateway.upstream.requests.length]).toEqual([10n, asked])
  })

  const good = JSON.stringify(blockNumberCall)
  const ambiguous: [string, string][] = [
    ['its payload twice', good.replace('"payload":', '"payload":{},"payload":')],
    ['its payload twice, once escaped', good.replace('"payload":', '"\\u0070ayload":{},"payload":')],
    ['a method within twice', good.replace('"id":1', '"id":1,"method":"eth_call"')],
    ['a resource twice', good.replace('"resource":', '"resource":"../x","resource":')],
    ['a __proto__', good.replace('{', '{"__proto__":{"cost":0},')],
    ['a __proto__ within', good.replace('"id":1', '"id":1,"__proto__":{}')],
    ['a constructor within', good.replace('"id":1', '"id":1,"constructor":{}')],
    [
      'ten thousand levels within',
      good.replace('"params":[]', `"params":${'['.repeat(10_000)}${']'.repeat(10_000)}`),
    ],
    ['trailing content', `${good}{}`],
  ]
  test.each(ambiguous)('with JSON that has %s', async (_, body) => {
    const { token, call, balance } = await customer(5)
    const asked = gateway.upstream.requests.length
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    expect(body).not.toBe(good)
    expect(outcomeOf(await gateway.api.post('/rpc').set(headers).send(body))).toEqual([
      400,
      'INVALID_REQUEST',
    ])
    expect([await balance(), gateway.upstream.requests.length]).toEqual([5n, asked])
    await call().expect(200)
  })

  test("over a transport that the chain's providers do not serve", async () => {
    const chain_id = await gateway.chain({ rpc: [gateway.upstream.url] })
    const { call, balance } = await customer(10)
    expect(outcomeOf(await call({ chain_id, transport: 'rest' }))).toEqual([404, 'NOT_FOUND'])
    expect(await balance()).toBe(10n)
  })

  test('to a retired provider', async () => {
    const chain_id = await gateway.chain(gateway.upstream.url)
    const { call } = await customer(10)
    await call({ chain_id }).expect(200)
    gateway.catalog.providers.pop()
    await gateway.reapply()
    expect(outcomeOf(await call({ chain_id }))).toEqual([404, 'NOT_FOUND'])
  })

  test('with a method name that Postgres cannot store, without an effect on other calls', async () => {
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

  test('above the maximum cost, without an effect on other calls', async () => {
    const chain_id = await gateway.chain({ rpc: [gateway.upstream.url], methods: { dear: 1_000_000 } })
    const { call } = await customer(100)
    const payload = Array.from({ length: 3_000 }, () => ({ method: 'dear' }))
    const [fine, dear, also] = await Promise.all([call(), call({ chain_id, payload }), call()])
    expect([fine.status, outcomeOf(dear), also.status]).toEqual([200, [400, 'INVALID_REQUEST'], 200])
  })
})
