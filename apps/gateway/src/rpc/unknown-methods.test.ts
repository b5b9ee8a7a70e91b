import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { lockAccount, waitForLockWaiter } from '../testing/ledgers'
import { startUpstream } from '../testing/upstream'
import { createCall } from '../testing/wallet'
import { randomBytes } from 'node:crypto'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { countUnknownMethods } from './unknown-methods'

const error = (code: number, message = 'the method does not exist') => ({
  jsonrpc: '2.0',
  id: 1,
  error: { code, message },
})
const result = { jsonrpc: '2.0', id: 1, result: '0x1' }
const unknown = error(-32_601)

const count = (body: unknown, { encoding, compress = (text: string) => Buffer.from(text) }: Encoding = {}) =>
  countUnknownMethods({
    status: 200,
    headers: {
      'content-type': 'application/json',
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    },
    body: compress(typeof body === 'string' ? body : JSON.stringify(body)),
    rest: undefined,
  })
type Encoding = { encoding?: string; compress?: (text: string) => Buffer }

describe('an answer', () => {
  test.each([
    ['method not found', unknown, 1],
    ['method not supported', error(-32_004), 1],
    ['a batch of both', [unknown, error(-32_004), unknown], 3],
    ['a batch with a result', [unknown, result], 0],
    ['a batch with another error', [unknown, error(-32_000)], 0],
    ['an empty batch', [], 0],
    ['a result', result, 0],
    ['another error that quotes the code', error(3, 'execution reverted: -32601'), 0],
    ['a result that quotes the error', { jsonrpc: '2.0', id: 1, result: unknown }, 0],
    ['an error beside a result', { ...unknown, result: null }, 0],
    ['the code as text', { ...unknown, error: { code: '-32601' } }, 0],
    ['no error object', { ...unknown, error: -32_601 }, 0],
    ['no JSON', '{"error":{"code":-32601', 0],
    ['null', '[null,-32601]', 0],
    ['more than 16 KiB', error(-32_601, 'x'.repeat(16_384)), 0],
  ])('with %s counts as %j: %i', (_, body, expected) => expect(count(body)).toBe(expected))

  test.each([
    ['gzip', gzipSync, 1],
    ['br', brotliCompressSync, 1],
    ['deflate', deflateSync, 1],
    ['GZIP', gzipSync, 1],
    ['zstd', gzipSync, 0],
    ['gzip', (text: string) => Buffer.from(text), 0],
  ])('compressed with %s is read if it is small', (encoding, compress, expected) => {
    expect(count(unknown, { encoding, compress })).toBe(expected)
    expect(count(error(-32_601, 'x'.repeat(1_000_000)), { encoding, compress })).toBe(0)
  })
})

test('an answer of more than 512 compressed bytes is not decompressed', () => {
  const long = error(-32_601, randomBytes(600).toString('base64'))
  expect([count(long), count(long, { encoding: 'gzip', compress: gzipSync })]).toEqual([1, 0])
})

describe('a call that the node answers with "method not found"', () => {
  const FREE = 3
  let gateway: TestGateway
  beforeAll(
    async () => (gateway = await testGateway({ environment: { FREE_UNKNOWN_METHODS_PER_MINUTE: FREE } })),
  )
  afterAll(() => auditAndClose(gateway))

  async function customer(credits: number) {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, credits)
    return { ...(await wallet.signIn()), wallet, balance: () => balanceOf(gateway.ledger, wallet.address) }
  }
  async function chainAnswering(status: number, body: unknown, compress?: (text: string) => Buffer) {
    const text = JSON.stringify(body)
    const upstream = await startUpstream((res) =>
      res
        .writeHead(status, {
          'content-type': 'application/json',
          ...(compress ? { 'content-encoding': 'gzip' } : {}),
        })
        .end(compress ? compress(text) : text),
    )
    return gateway.chain({ rpc: [upstream.url], rest: [upstream.url], methods: { dear: 5 } })
  }
  const usage = async (chain_id: string) =>
    (
      await gateway.pool.query<{ state: string; outcome: string; status_code: number }>(
        'SELECT state, outcome, status_code FROM usage WHERE chain_id = $1 ORDER BY id',
        [chain_id],
      )
    ).rows

  test.each([
    ['200', 200, undefined],
    ['404', 404, undefined],
    ['500', 500, undefined],
    ['200 in gzip', 200, gzipSync],
  ])('as %s is refunded, and the answer is the node’s', async (_, status, compress) => {
    const chain_id = await chainAnswering(status, unknown, compress)
    const { call, balance, wallet } = await customer(5)
    const answer = await call({ chain_id, payload: { jsonrpc: '2.0', id: 1, method: 'dear' } })
    expect([answer.status, answer.body]).toEqual([status, unknown])
    expect(answer.headers).toMatchObject({ 'x-credits-charged': '0', 'x-credits-remaining': '5' })
    expect(await balance()).toBe(5n)
    expect(await usage(chain_id)).toEqual([
      { state: 'refunded', outcome: 'method_not_found', status_code: status },
    ])
    const history = await gateway.api.get(`/history/${wallet.address}`).expect(200)
    expect((history.body as { data: object[] }).data).toMatchObject([
      { outcome: 'method_not_found', status_code: status },
    ])
  })

  test('is answered once its credits are back', async () => {
    const { call, balance, wallet } = await customer(1)
    let unlock: (() => Promise<void>) | undefined
    const upstream = await startUpstream(async (res) => {
      unlock = await lockAccount(gateway.pool, wallet.address)
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(unknown))
    })
    const chain_id = await gateway.chain(upstream.url)
    let isAnswered = false
    const answer = call({ chain_id }).then((came) => {
      isAnswered = true
      return came
    })
    await waitForLockWaiter(gateway.pool)
    expect(isAnswered).toBe(false)
    await unlock?.()
    expect((await answer).headers['x-credits-remaining']).toBe('1')
    expect(await balance()).toBe(1n)
    expect((await call()).status).toBe(200)
  })

  test('in a batch is refunded if all entries are, and charged otherwise', async () => {
    const payload = [result, result].map(() => ({ jsonrpc: '2.0', id: 1, method: 'foo' }))
    const { call, balance } = await customer(10)
    const all = await call({ chain_id: await chainAnswering(200, [unknown, unknown]), payload })
    expect([all.headers['x-credits-charged'], await balance()]).toEqual(['0', 10n])
    const some = await call({ chain_id: await chainAnswering(200, [unknown, result]), payload })
    expect(some.headers['x-credits-charged']).toBe('2')
    await gateway.ledger.drain()
    expect(await balance()).toBe(8n)
  })

  test('over REST is charged', async () => {
    const chain_id = await chainAnswering(200, unknown)
    const { call } = await customer(1)
    expect((await call({ chain_id, transport: 'rest' })).headers['x-credits-charged']).toBe('1')
  })

  test('is refunded up to a budget per minute over all replicas, each entry of a batch counted, then charged', async () => {
    const replica = await testGateway({
      beside: gateway,
      environment: { FREE_UNKNOWN_METHODS_PER_MINUTE: FREE },
    })
    const replicas = process.env.TEST_REDIS_URL ? [gateway, replica] : [gateway]
    const chain_id = await chainAnswering(200, unknown)
    const { token, balance } = await customer(10)
    const charged: (string | undefined)[] = []
    for (let calls = 0; calls < FREE + 2; calls++) {
      const { api } = replicas[calls % replicas.length]!
      charged.push((await createCall(api, token)({ chain_id })).headers['x-credits-charged'])
    }
    expect(charged).toEqual(['0', '0', '0', '1', '1'])
    await Promise.all([gateway.ledger.drain(), replica.ledger.drain()])
    expect(await balance()).toBe(8n)

    const other = await customer(10)
    const payload = Array.from({ length: FREE + 1 }, () => ({ jsonrpc: '2.0', id: 1, method: 'foo' }))
    const batch = await chainAnswering(
      200,
      payload.map(() => unknown),
    )
    expect((await other.call({ chain_id: batch, payload })).headers['x-credits-charged']).toBe('4')
  })
})
