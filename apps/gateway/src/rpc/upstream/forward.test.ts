import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { balanceOf } from '../../testing/accounts'
import { createCaller } from '../../testing/callers'
import { auditAndClose, testGateway, type TestGateway } from '../../testing/gateway'
import { outcomeOf } from '../../testing/outcome'
import { answers, getRefusingUrl, startUpstream, type Answer } from '../../testing/upstream'
import { createCall, type TestSession } from '../../testing/wallet'

const TIMEOUT_SECONDS = 0.3
const CREDITS = 1_000_000

let gateway: TestGateway
let wallet: string
let session: TestSession
beforeAll(async () => {
  gateway = await testGateway({ environment: { UPSTREAM_TIMEOUT_SECONDS: TIMEOUT_SECONDS } })
  const owner = gateway.wallet()
  wallet = owner.address
  await gateway.fund(wallet, CREDITS)
  session = await owner.signIn()
})
afterAll(() => auditAndClose(gateway))

async function chargedFor<T>(work: () => Promise<T>): Promise<{ charged: bigint; result: T }> {
  const before = await balanceOf(gateway.ledger, wallet)
  const result = await work()
  await gateway.ledger.drain()
  return { charged: before - (await balanceOf(gateway.ledger, wallet)), result }
}

async function twoUpstreams(first: Answer) {
  const upstream = await startUpstream(first)
  const second = await startUpstream(answers.result('0x2'))
  return { chain_id: await gateway.chain(upstream.url, second.url), first: upstream, second }
}

describe('when the first upstream', () => {
  test('answers with an error of JSON-RPC, that is the answer', async () => {
    const error = { jsonrpc: '2.0', id: 1, error: { code: 3, message: 'execution reverted' } }
    const { chain_id, second } = await twoUpstreams((res) => res.end(JSON.stringify(error)))
    const { charged, result } = await chargedFor(async () => session.call({ chain_id }))
    expect([result.status, JSON.parse(result.text), charged]).toEqual([200, error, 1n])
    expect(second.requests).toEqual([])
  })

  test('fails with an endless body, the next is used and the first connection closed', async () => {
    const slowGateway = await testGateway({
      beside: gateway,
      environment: { UPSTREAM_TIMEOUT_SECONDS: 3_600 },
    })
    let connectionClosed: Promise<unknown> | undefined
    const { chain_id } = await twoUpstreams((res) => {
      connectionClosed = once(res, 'close')
      res.writeHead(500).write(Buffer.alloc(1_000_000))
    })
    const answer = await createCall(slowGateway.api, session.token)({ chain_id })
    expect(answer.body).toMatchObject({ result: '0x2' })
    await connectionClosed
  })
})

describe('when every upstream', () => {
  test('is unavailable, the credits are refunded and no URL is disclosed', async () => {
    const [one, other] = [await getRefusingUrl(), await startUpstream(answers.reset)]
    const chain_id = await gateway.chain(one, other.url)
    const { charged, result } = await chargedFor(async () => session.call({ chain_id }))
    expect(outcomeOf(result)).toEqual([500, 'UPSTREAM_FAILED'])
    expect(result.text + JSON.stringify(result.headers)).not.toContain('127.0.0.1')
    expect(charged).toBe(0n)
    expect(result.headers['x-credits-charged']).toBeUndefined()
  })

  test.each([401, 402, 403, 407, 408, 429, 500, 502, 503, 504])(
    'fails with status %i, the refusal is the gateway’s own and nothing is charged',
    async (status) => {
      const theirs = {
        x402Version: 1,
        accepts: [],
        code: 'THEIRS',
        message: 'upgrade at http://node.internal/',
      }
      const failing = answers.status(status, JSON.stringify(theirs), { 'content-type': 'application/json' })
      const [one, other] = [await startUpstream(failing), await startUpstream(failing)]
      const chain_id = await gateway.chain(one.url, other.url)
      const { charged, result } = await chargedFor(async () => session.call({ chain_id }))
      expect([...outcomeOf(result), charged]).toEqual([500, 'UPSTREAM_FAILED', 0n])
      expect(Object.keys(result.body as object)).toEqual(['code', 'message'])
      expect(result.text + JSON.stringify(result.headers)).not.toMatch(/accepts|node\.internal|THEIRS/)
      expect(result.headers['x-credits-charged']).toBeUndefined()
      expect([one.requests.length, other.requests.length]).toEqual([1, 1])
    },
  )

  test.each([401, 402, 403, 407, 429])(
    'refuses the gateway with status %i in JSON-RPC, as large providers do, nothing is charged',
    async (status) => {
      const error = { jsonrpc: '2.0', id: 1, error: { code: -32_005, message: 'invalid project id' } }
      const refusing = await startUpstream(answers.status(status, JSON.stringify(error)))
      const chain_id = await gateway.chain(refusing.url)
      const { charged, result } = await chargedFor(async () => session.call({ chain_id }))
      expect([...outcomeOf(result), charged]).toEqual([500, 'UPSTREAM_FAILED', 0n])
    },
  )

  test.each([408, 500, 502, 503])(
    'responds in JSON-RPC with status %i, that is the charged answer, even after other attempts',
    async (status) => {
      const error = { jsonrpc: '2.0', id: -1, error: { code: -32_603, message: 'height 9 is not available' } }
      const json = { 'content-type': 'application/json' }
      const one = await startUpstream(answers.status(status, JSON.stringify(error), json))
      const other = await startUpstream(answers.status(503))
      const chain_id = await gateway.chain(one.url, other.url, await getRefusingUrl())
      const { charged, result } = await chargedFor(async () => session.call({ chain_id }))
      expect([result.status, result.body, charged]).toEqual([status, error, 1n])
      expect(result.headers['x-credits-charged']).toBe('1')
      expect(other.requests).toHaveLength(1)
    },
  )

  test('fails over REST, a node’s own error is the answer and any other failure is the gateway’s', async () => {
    const error = JSON.stringify({ code: 2, message: 'codespace sdk code 22: not found', details: [] })
    const rows: [status: number, body: string, expected: unknown[]][] = [
      [500, error, [500, 1n]],
      [501, error, [501, 1n]],
      [503, error, [500, 0n]],
      [504, error, [500, 0n]],
      [429, error, [500, 0n]],
      [500, '{"error":"overloaded"}', [500, 0n]],
      [500, '<html>', [500, 0n]],
    ]
    for (const [status, body, expected] of rows) {
      const upstream = await startUpstream(answers.status(status, body))
      const chain_id = await gateway.chain(upstream.url)
      const rest = { chain_id, transport: 'rest', method: 'GET', resource: '/x', payload: {} }
      const { charged, result } = await chargedFor(async () => session.call(rest))
      expect([status, body, result.status, charged]).toEqual([status, body, ...expected])
      expect(result.text.includes('UPSTREAM_FAILED')).toBe(charged === 0n)
    }
  })

  test('fails, a read is sent to at most three', async () => {
    const upstreams = await Promise.all(Array.from({ length: 5 }, () => startUpstream(answers.status(503))))
    const chain_id = await gateway.chain(await getRefusingUrl(), ...upstreams.map(({ url }) => url))
    expect(outcomeOf(await session.call({ chain_id }))).toEqual([500, 'UPSTREAM_FAILED'])
    expect(upstreams.map(({ requests: asked }) => asked.length)).toEqual([1, 1, 1, 0, 0])
  })

  test('redirects, no redirect is followed and the credits are refunded', async () => {
    const metadata = await startUpstream(answers.result('secret'))
    const location = `${metadata.url}/latest/meta-data/`
    for (const status of [301, 302, 303, 307, 308]) {
      const redirect = await startUpstream(answers.status(status, 'x'.repeat(1_000_000), { location }))
      const chain_id = await gateway.chain(redirect.url)
      const { charged, result } = await chargedFor(async () => session.call({ chain_id }))
      expect([...outcomeOf(result), charged]).toEqual([500, 'UPSTREAM_FAILED', 0n])
      expect(result.headers.location).toBeUndefined()
    }
    expect(metadata.requests).toEqual([])
  })
})

test('an upstream that keeps failing is used last for five seconds', async () => {
  const { chain_id, first, second } = await twoUpstreams(answers.status(503))
  const call = () => session.call({ chain_id }).expect(200)
  for (let calls = 0; calls < 5; calls++) await call()
  await call()
  expect([first.requests.length, second.requests.length]).toEqual([5, 6])
  gateway.clock.advance(5)
  await call()
  expect([first.requests.length, second.requests.length]).toEqual([6, 7])
})

test('an upstream with Retry-After is used last until then', async () => {
  const { chain_id, first, second } = await twoUpstreams(answers.status(429, '', { 'retry-after': '7' }))
  const call = () => session.call({ chain_id }).expect(200)
  await call()
  gateway.clock.advance(6)
  await call()
  expect([first.requests.length, second.requests.length]).toEqual([1, 2])
  gateway.clock.advance(1)
  await call()
  expect([first.requests.length, second.requests.length]).toEqual([2, 3])
})

describe('an answer', () => {
  const raw = (chain_id: string, headers: Record<string, string> = {}) =>
    createCaller(gateway, session.token)({ chain_id }, { headers })
  const servedBy = async (answer: Answer) => gateway.chain((await startUpstream(answer)).url)
  const bytesOf = async (chain_id: string, headers?: Record<string, string>) => {
    const answer = await raw(chain_id, headers)
    return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) }
  }

  test.each([
    ['JSON', 200, 'application/json', Buffer.from('{"jsonrpc":"2.0","id":1,"result":9007199254740993}')],
    ['nothing', 204, undefined, Buffer.alloc(0)],
    ['bytes', 200, 'application/octet-stream', randomBytes(100_000)],
    ['text in another encoding', 418, 'text/plain; charset=latin1', Buffer.from('na\xefve', 'latin1')],
    ['something without a type', 201, undefined, Buffer.from('x')],
  ])('of %s is returned unchanged: status, type and bytes', async (_, status, type, body) => {
    const chain_id = await servedBy((res) =>
      res.writeHead(status, type ? { 'content-type': type } : {}).end(body),
    )
    const { statusCode, headers, bytes } = await bytesOf(chain_id)
    expect([statusCode, headers['content-type']]).toEqual([status, type])
    expect(bytes.equals(body)).toBe(true)
    expect(headers['x-credits-charged']).toBe('1')
  })

  test('that is compressed stays compressed if the caller accepts it', async () => {
    const body = gzipSync('{"result":"0x1"}')
    const upstream = await startUpstream((res) =>
      res.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(body),
    )
    const { headers, bytes } = await bytesOf(await gateway.chain(upstream.url), {
      'accept-encoding': 'gzip, br',
    })
    expect(headers['content-encoding']).toBe('gzip')
    expect(bytes.equals(body)).toBe(true)
    expect(upstream.requests[0]?.headers['accept-encoding']).toBe('gzip, br')
  })

  test('contains no cookies, addresses or connection headers of the upstream', async () => {
    const chain_id = await servedBy(
      answers.status(200, 'ok', {
        'set-cookie': ['a=1', 'b=2'],
        location: 'http://node.internal/',
        server: 'node.internal',
        via: '1.1 node.internal',
        'keep-alive': 'timeout=5',
        'x-request-id': 'theirs',
        'access-control-allow-origin': 'https://evil.example',
        'x-credits-remaining': '999',
      }),
    )
    const { headers } = await bytesOf(chain_id)
    expect(JSON.stringify(headers)).not.toMatch(/node\.internal|evil|theirs|"999"/)
    for (const name of ['set-cookie', 'location', 'server', 'via']) expect(headers[name]).toBeUndefined()
  })

  test('that is cut off late is also cut off for the caller', async () => {
    const chain_id = await servedBy(answers.resetAfter(1_000_000, 2_000_000))
    const answer = await raw(chain_id)
    expect(answer.statusCode).toBe(200)
    await expect(answer.body.arrayBuffer()).rejects.toThrow()
    await gateway.api.get('/health').expect(200)
  })

  test("of 64 MB is streamed at the caller's pace", async () => {
    const MB = 1_048_576
    const size = 64 * MB
    const chunk = randomBytes(MB)
    let sent = 0
    function* chunks() {
      for (; sent < size; sent += MB) yield chunk
    }
    const slow = await testGateway({ beside: gateway })
    const chain_id = await slow.chain(
      (await startUpstream((res) => pipeline(Readable.from(chunks()), res))).url,
    )
    const { body } = await createCaller(slow, session.token)({ chain_id })
    await once(body, 'readable')
    for (let before = -1; sent !== before;) {
      before = sent
      await delay(100)
    }
    expect(sent).toBeLessThan(40 * MB)

    const twice = Buffer.concat([chunk, chunk])
    let received = 0
    for await (const part of body as AsyncIterable<Buffer>) {
      const at = received % MB
      expect(part.equals(twice.subarray(at, at + part.length))).toBe(true)
      received += part.length
    }
    expect(received).toBe(size)
  })
})
