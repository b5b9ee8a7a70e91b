import { type OpenApiDocument } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { testGateway, type TestGateway } from './testing/gateway'
import { outcomeOf } from './testing/outcome'
import { nobody } from './testing/upstream'
import { callWith } from './testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

describe('GET /health and /ready', () => {
  test('say that the gateway serves', async () => {
    for (const path of ['/health', '/ready'])
      expect((await gateway.api.get(path).expect(200)).body).toEqual({ status: 'ok' })
  })

  test('tell a database that is gone from a process that is', async () => {
    const broken = await testGateway({ beside: gateway })
    await broken.database.close()
    await broken.api.get('/health').expect(200)
    expect(outcomeOf(await broken.api.get('/ready'))).toEqual([503, 'UNAVAILABLE'])
  })
})

describe('GET /credits/:wallet', () => {
  test('lists the balance of each plan, for the wallet in any letter case', async () => {
    const { address } = gateway.wallet()
    await gateway.fund(address, 7)
    for (const wallet of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
      const answer = await gateway.api.get(`/credits/${wallet}`).expect(200)
      expect(answer.body).toEqual([{ pricing_plan_id: 1, remaining_credits: 7 }])
      expect(answer.headers['cache-control']).toBe('no-store')
    }
  })

  test('is empty for a wallet that never bought', async () => {
    expect((await gateway.api.get(`/credits/${gateway.wallet().address}`).expect(200)).body).toEqual([])
  })

  test.each(['alice', '0x12', '%00', `0x${'0'.repeat(41)}`, "0x' OR 1=1 --"])(
    'refuses %j',
    async (wallet) => {
      expect(outcomeOf(await gateway.api.get(`/credits/${wallet}`))).toEqual([400, 'INVALID_REQUEST'])
    },
  )
})

describe('pages of any origin', () => {
  const origin = 'https://wallet.example'

  test('may pay and read what they bought', async () => {
    const { status, headers } = await gateway.api
      .options('/rpc')
      .set({ origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-payment' })
    expect([status, headers['access-control-allow-origin']]).toEqual([204, '*'])
    for (const name of ['authorization', 'content-type', 'x-payment', 'payment-signature'])
      expect(headers['access-control-allow-headers']).toContain(name)

    const answer = await (await gateway.wallet().signIn()).call().set({ origin }).expect(402)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    for (const name of [
      'X-PAYMENT-RESPONSE',
      'PAYMENT-REQUIRED',
      'X-Credits-Remaining',
      'Allow',
      'WWW-Authenticate',
    ])
      expect(answer.headers['access-control-expose-headers']).toContain(name)
  })
})

describe('a body', () => {
  const SMALL = 32_768
  const LARGE = 1_048_576
  type Sending = (text: string) => { body: Buffer | Readable; headers?: Record<string, string> }
  const plain: Sending = (text) => ({ body: Buffer.from(text) })
  const chunked: Sending = (text) => ({ body: Readable.from([Buffer.from(text)]) })
  const gzipped: Sending = (text) => ({
    body: gzipSync(text),
    headers: { 'content-encoding': 'gzip' },
  })
  const sendings = [
    ['plain', plain],
    ['in chunks', chunked],
    ['compressed', gzipped],
  ] as const

  async function outcome(path: string, { body, headers }: ReturnType<Sending>, token?: string) {
    const answer = await request(gateway.url + path, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        ...headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    })
    return [answer.statusCode, ((await answer.body.json()) as { code: string }).code]
  }
  const broken = (bytes: number) => '{'.padEnd(bytes)
  const read = [400, 'INVALID_REQUEST']
  const tooLarge = [413, 'PAYLOAD_TOO_LARGE']

  test.each(sendings)('sent %s has at most 32 KiB, whoever sends it', async (_, sending) => {
    const { token } = await gateway.wallet().signIn()
    for (const path of [
      '/auth/login',
      '/auth/refresh',
      '/auth/logout',
      '/nothing',
      '/rpc/x',
      '/pricing/rpc',
    ]) {
      expect(await outcome(path, sending(broken(SMALL)), token)).toEqual(read)
      expect(await outcome(path, sending(broken(SMALL + 1)), token)).toEqual(tooLarge)
    }
  })

  test.each(sendings)(
    'sent %s to /rpc has at most 1 MiB of a wallet that is signed in',
    async (_, sending) => {
      const { token } = await gateway.wallet().signIn()
      for (const path of ['/rpc', '/RPC/?x']) {
        expect(await outcome(path, sending(broken(LARGE)), token)).toEqual(read)
        expect(await outcome(path, sending(broken(LARGE + 1)), token)).toEqual(tooLarge)
      }
    },
  )

  test.each(sendings)('sent %s to /rpc by nobody is not read above 32 KiB', async (_, sending) => {
    for (const token of [undefined, 'x.y.z'])
      for (const path of ['/rpc', '/RPC/?x'])
        expect(await outcome(path, sending(broken(SMALL + 1)), token)).toEqual([401, 'INVALID_TOKEN'])
  })

  test('that may turn out to be large is not read for nobody, and one that says it is small is', async () => {
    expect(await outcome('/rpc', plain(broken(SMALL)))).toEqual(read)
    for (const sending of [chunked, gzipped])
      expect(await outcome('/rpc', sending(broken(10)))).toEqual([401, 'INVALID_TOKEN'])
  })
})

test('a token that will not do is told which scheme would, as the reference says', async () => {
  const { paths } = (await gateway.api.get('/openapi.json')).body as OpenApiDocument
  for (const path of ['/rpc', '/auth/logout']) {
    const answers = [
      await gateway.api.post(path),
      await gateway.api.post(path).set('authorization', 'Bearer x.y.z'),
      await gateway.api.post('/auth/refresh').send({ refresh_token: 'a'.repeat(43) }),
    ]
    expect(answers.map(({ status, headers }) => [status, headers['www-authenticate'] as unknown])).toEqual([
      [401, 'Bearer'],
      [401, 'Bearer error="invalid_token"'],
      [401, 'Bearer'],
    ])
    expect(paths[path]?.['post']?.responses['401']).toMatchObject({
      headers: { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } },
    })
  }
})

describe('a request that nobody sends in good faith', () => {
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    gateway.api
      .post(path)
      .set({ 'content-type': 'application/json', ...headers })
      .send(body)

  const rows: [string, string, (string | number)[]][] = [
    ['no JSON', '{"message":', [400, 'INVALID_REQUEST']],
    ['a list', '[]', [400, 'INVALID_REQUEST']],
    ['nothing', 'null', [400, 'INVALID_REQUEST']],
    ['a key twice', '{"address":"a","address":"b"}', [400, 'INVALID_REQUEST']],
    ['a prototype', '{"__proto__":{"admin":true}}', [400, 'INVALID_REQUEST']],
    ['ten thousand levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, [400, 'INVALID_REQUEST']],
    ['five megabytes', `{"message":"${'x'.repeat(5_000_000)}"}`, [413, 'PAYLOAD_TOO_LARGE']],
  ]
  test.each(rows)('with %s is told so', async (_, body, refusal) => {
    const { token } = await gateway.wallet().signIn()
    expect(outcomeOf(await post('/auth/login', body))).toEqual(refusal)
    expect(outcomeOf(await post('/rpc', body, { authorization: `Bearer ${token}` }))).toEqual(refusal)
  })

  test('as text, to no path, or by another method is told so', async () => {
    expect(outcomeOf(await post('/auth/login', '{}', { 'content-type': 'text/plain' }))).toEqual([
      400,
      'INVALID_REQUEST',
    ])
    expect(outcomeOf(await gateway.api.get('/nothing'))).toEqual([404, 'NOT_FOUND'])
    expect(outcomeOf(await gateway.api.get('/rpc'))).toEqual([405, 'METHOD_NOT_ALLOWED'])
  })

  test('with headers beyond all measure is told so', async () => {
    const { statusCode } = await request(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { 'x-payment': 'x'.repeat(20_000) },
    })
    expect(statusCode).toBe(431)
  })

  test('of a wallet that signs in again and again is told to wait, whoever it says it is', async () => {
    const limited = await testGateway({ environment: { RATE_LIMIT_AUTH_PER_MINUTE: 3 } })
    const nonce = (index: number) =>
      limited.api.get('/auth/nonce').set('X-Forwarded-For', `203.0.113.${index}`).then(outcomeOf)
    expect([await nonce(1), await nonce(2), await nonce(3), await nonce(4)]).toEqual([
      [200, undefined],
      [200, undefined],
      [200, undefined],
      [429, 'RATE_LIMITED'],
    ])
    await limited.api.get('/pricing').expect(200)
  })
})

test('while Postgres is away everything that needs it is 503 with Retry-After, and the log says why', async () => {
  const wallet = gateway.wallet()
  const { token, refresh_token } = await wallet.signIn()
  const [payment, body] = [await wallet.pay(), await wallet.login()]
  const alone = await testGateway({ beside: gateway })
  await alone.database.close()

  for (const answer of [
    await alone.api.get('/pricing'),
    await alone.api.get(`/credits/${wallet.address}`),
    await alone.api.get(`/history/${wallet.address}`),
    await alone.api.post('/auth/login').send(body),
    await alone.api.post('/auth/refresh').send({ refresh_token }),
    await callWith(alone.api, token)(),
    await callWith(alone.api, token)({ payment }),
  ]) {
    expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  }
  expect(await alone.log.line('request failed')).toMatchObject({
    level: 'error',
    code: 'UNAVAILABLE',
    reason: expect.stringContaining('Postgres: ') as string,
  })
})

test('while Redis is away nobody can sign in, and whoever has is served', async () => {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 5)
  const { token, refresh_token } = await wallet.signIn()
  const body = await wallet.login()
  const redisUrl = (await nobody()).replace('http', 'redis')
  const lonely = await testGateway({ beside: gateway, redisUrl })

  for (const answer of [
    await lonely.api.get('/auth/nonce'),
    await lonely.api.post('/auth/login').send(body),
  ]) {
    expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  }
  await callWith(lonely.api, token)().expect(200)
  await callWith(lonely.api, token)({ payment: await wallet.pay() }).expect(200)
  await lonely.api.post('/auth/refresh').send({ refresh_token }).expect(200)
})
