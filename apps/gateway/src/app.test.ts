import { type OpenApiDocument } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { testGateway, type TestGateway } from './testing/gateway'
import { outcomeOf } from './testing/outcome'
import { getRefusingUrl } from './testing/upstream'
import { createCall } from './testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

describe('GET /health and /ready', () => {
  test('report that the gateway serves', async () => {
    for (const path of ['/health', '/ready'])
      expect((await gateway.api.get(path).expect(200)).body).toEqual({ status: 'ok' })
  })

  test('distinguish an unavailable database from a stopped process', async () => {
    const broken = await testGateway({ beside: gateway })
    await broken.database.close()
    await broken.api.get('/health').expect(200)
    expect(outcomeOf(await broken.api.get('/ready'))).toEqual([503, 'UNAVAILABLE'])
  })
})

describe('pages of every origin', () => {
  const origin = 'https://wallet.example'

  test('may send payments and read the response headers', async () => {
    const { status, headers } = await gateway.api
      .options('/rpc')
      .set({ origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-payment' })
    expect([status, headers['access-control-allow-origin']]).toEqual([204, '*'])
    for (const name of ['authorization', 'content-type', 'x-payment', 'payment-signature', 'traceparent'])
      expect(headers['access-control-allow-headers']).toContain(name)

    const answer = await (await gateway.wallet().signIn()).call().set({ origin }).expect(402)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    for (const name of [
      'X-PAYMENT-RESPONSE',
      'PAYMENT-REQUIRED',
      'X-Credits-Remaining',
      'Retry-After',
      'Date',
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
  const encodings = [
    ['plain', plain],
    ['in chunks', chunked],
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

  const unsupported = [415, 'UNSUPPORTED_MEDIA_TYPE']

  test.each(encodings)('sent %s has at most 32 KiB, for every client', async (_, sending) => {
    const { token } = await gateway.wallet().signIn()
    for (const path of ['/auth/login', '/auth/refresh']) {
      expect(await outcome(path, sending(broken(SMALL)), token)).toEqual(read)
      expect(await outcome(path, sending(broken(SMALL + 1)), token)).toEqual(tooLarge)
    }
  })

  test.each(encodings)('sent %s to /rpc has at most 1 MiB from a signed-in wallet', async (_, sending) => {
    const { token } = await gateway.wallet().signIn()
    for (const path of ['/rpc', '/RPC/?x']) {
      expect(await outcome(path, sending(broken(LARGE)), token)).toEqual(read)
      expect(await outcome(path, sending(broken(LARGE + 1)), token)).toEqual(tooLarge)
    }
  })

  test.each(encodings)('sent %s to /rpc is not read without a valid token', async (_, sending) => {
    for (const token of [undefined, 'x.y.z'])
      for (const bytes of [10, SMALL + 1, LARGE + 1])
        expect(await outcome('/rpc', sending(broken(bytes)), token)).toEqual([401, 'INVALID_TOKEN'])
  })

  test('is not read on routes without one', async () => {
    for (const [path, refusal] of [
      ['/nothing', [404, 'NOT_FOUND']],
      ['/rpc/x', [404, 'NOT_FOUND']],
      ['/pricing', [405, 'METHOD_NOT_ALLOWED']],
    ] as const)
      expect(await outcome(path, plain(broken(SMALL + 1)))).toEqual(refusal)
  })

  test('that is compressed is refused', async () => {
    const { token } = await gateway.wallet().signIn()
    for (const path of ['/auth/login', '/auth/refresh', '/rpc'])
      for (const encoding of ['gzip', 'deflate', 'br', 'identity, gzip', 'secret']) {
        const sent = { ...gzipped('{}'), headers: { 'content-encoding': encoding } }
        expect(await outcome(path, sent, token)).toEqual(unsupported)
      }
    expect(await outcome('/rpc', gzipped('{}'))).toEqual([401, 'INVALID_TOKEN'])
  })

  test('that would become a query of more than 16 KiB is refused', async () => {
    const { token } = await gateway.wallet().signIn()
    const call = { ecosystem: 'evm', chain_id: '84532', resource: '', method: 'GET', transport: 'rest' }
    const get = (length: number) =>
      gateway.api
        .post('/rpc')
        .set({ authorization: `Bearer ${token}` })
        .send({ ...call, payload: { q: 'é'.repeat(length) } })
    expect(outcomeOf(await get(8_188))).toEqual([402, undefined])
    expect(outcomeOf(await get(8_189))).toEqual(read)
  })

  test('of too many small objects is refused before any is built', async () => {
    const { token } = await gateway.wallet().signIn()
    const objects = `[${Array(300_000).fill('{}').join()}]`
    for (const text of [`{"payload":${objects}}`, `{"payload":{"params":${objects}}}`]) {
      const answer = await gateway.api
        .post('/rpc')
        .set({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
        .send(text)
      expect(outcomeOf(answer)).toEqual(read)
      expect((answer.body as { message: string }).message).toMatch(/more than (1000 entries|4096 objects)/)
    }
  })
})

test('an invalid token gets WWW-Authenticate, as the reference says', async () => {
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

describe('a large body', () => {
  const post = async (api: TestGateway['api'], token: string, text: string, address: string) =>
    outcomeOf(
      await api
        .post('/rpc')
        .set({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
        .set('X-Forwarded-For', address)
        .send(text),
    )
  const limited = [429, 'RATE_LIMITED']

  test("counts as one call for each 16 KiB, and is not read beyond the wallet's limit", async () => {
    const { api, wallet } = await testGateway({ environment: { RATE_LIMIT_RPC_PER_MINUTE: 10 } })
    const { token } = await wallet().signIn()
    expect(await post(api, token, '{'.padEnd(160_000), '')).toEqual([400, 'INVALID_REQUEST'])
    expect(await post(api, token, '{', '')).toEqual(limited)
    const other = await wallet().signIn()
    expect(await post(api, other.token, '{'.padEnd(170_000), '')).toEqual(limited)
  })

  test('has a limit for each address over all wallets, which small calls do not count towards', async () => {
    const environment = { RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: 1, TRUSTED_PROXIES: 1 }
    const { api, wallet } = await testGateway({ environment })
    const [first, second] = [(await wallet().signIn()).token, (await wallet().signIn()).token]
    expect(await post(api, first, '{'.padEnd(1_000_000), '192.0.2.1')).toEqual([400, 'INVALID_REQUEST'])
    expect(await post(api, second, '{'.padEnd(100_000), '192.0.2.1')).toEqual(limited)
    expect(await post(api, second, '{', '192.0.2.1')).toEqual([400, 'INVALID_REQUEST'])
    expect(await post(api, second, '{'.padEnd(100_000), '192.0.2.2')).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('a malicious request', () => {
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
  test.each(rows)('with %s is refused', async (_, body, refusal) => {
    const { token } = await gateway.wallet().signIn()
    expect(outcomeOf(await post('/auth/login', body))).toEqual(refusal)
    expect(outcomeOf(await post('/rpc', body, { authorization: `Bearer ${token}` }))).toEqual(refusal)
  })

  test('as text, to an unknown path, or by another method is refused', async () => {
    expect(outcomeOf(await post('/auth/login', '{}', { 'content-type': 'text/plain' }))).toEqual([
      400,
      'INVALID_REQUEST',
    ])
    expect(outcomeOf(await gateway.api.get('/nothing'))).toEqual([404, 'NOT_FOUND'])
    expect(outcomeOf(await gateway.api.get('/rpc'))).toEqual([405, 'METHOD_NOT_ALLOWED'])
  })

  test('with oversized headers is refused', async () => {
    const { statusCode } = await request(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { 'x-payment': 'x'.repeat(25_000) },
    })
    expect(statusCode).toBe(431)
  })

  test('from an address that signs in repeatedly is limited, for any wallets', async () => {
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

test('while Postgres is unavailable, routes that need it are 503 with Retry-After, and the log has the reason', async () => {
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
    await createCall(alone.api, token)(),
    await createCall(alone.api, token)({ payment }),
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

test('while Redis is unavailable no wallet can sign in, and existing sessions are served', async () => {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 5)
  const { token, refresh_token } = await wallet.signIn()
  const body = await wallet.login()
  const redisUrl = (await getRefusingUrl()).replace('http', 'redis')
  const lonely = await testGateway({ beside: gateway, redisUrl })

  for (const answer of [
    await lonely.api.get('/auth/nonce'),
    await lonely.api.post('/auth/login').send(body),
  ]) {
    expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  }
  await createCall(lonely.api, token)().expect(200)
  await createCall(lonely.api, token)({ payment: await wallet.pay() }).expect(200)
  await lonely.api.post('/auth/refresh').send({ refresh_token }).expect(200)
})
