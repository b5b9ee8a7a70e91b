import { openFacilitatorDatabase } from '@tollgate/database'
import { operationsOf, type OpenApiDocument } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { newPayer, ownChain, sharedChain, transfersFrom } from '../testing/chain'
import {
  newClient,
  newUser,
  testFacilitator,
  type ClientHeaders,
  type TestFacilitator,
} from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { inVersion2, paymentRequest, type PaymentRequest } from '../testing/payment'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const INVALID = [400, 'INVALID_REQUEST']
const rpcUrl = sharedChain()

let facilitator: TestFacilitator
let user: { Authorization: string }
let client: ClientHeaders
let credentials: { email: string; password: string }
const admin = { Authorization: `Bearer ${ADMIN_TOKEN}` }

beforeAll(async () => {
  facilitator = await testFacilitator({ variables: { ADMIN_TOKEN } })
  const { accessToken, ...rest } = await newUser(facilitator.api)
  user = { Authorization: `Bearer ${accessToken}` }
  credentials = rest
  client = await newClient(facilitator.api)
})
afterAll(closeAll)

type Method = 'get' | 'post' | 'put' | 'delete'
type Headers = Record<string, string>

const withBody = (): [Method, string, Headers][] => [
  ...['/api/v1/verify', '/api/v1/settle', '/api/v2/verify', '/api/v2/settle'].map(
    (path): [Method, string, Headers] => ['post', path, client],
  ),
  ...['/api/v1/signup', '/api/v1/login', '/api/v1/token/refresh'].map((path): [Method, string, Headers] => [
    'post',
    path,
    {},
  ]),
  ['post', '/api/v1/clients', user],
  ['post', '/api/v1/resources', user],
  ['put', '/api/v1/resources/1', user],
  ...['/admin', '/api/v1/admin'].flatMap((prefix): [Method, string, Headers][] => [
    ['post', `${prefix}/users`, admin],
    ['post', `${prefix}/assets`, admin],
  ]),
]

async function notRefused(body: string, expected: unknown[], contentType = 'application/json') {
  const wrong: unknown[] = []
  for (const [method, path, headers] of withBody()) {
    const answer = await facilitator.api[method](path)
      .set({ ...headers, 'Content-Type': contentType })
      .send(body)
    const isRefused = String(outcomeOf(answer)) === String(expected)
    if (!isRefused || !/\w/.test(messageOf(answer))) wrong.push([path, ...outcomeOf(answer), answer.text])
  }
  return wrong
}

const messageOf = ({ body }: { body: unknown }) => (body as { message: string }).message

const ask = (path: string, body: object, { api } = facilitator, headers: Headers = client) =>
  api.post(path).set(headers).send(body)

const newPayment = async () => paymentRequest(await newPayer(rpcUrl))

const withPayload = (body: PaymentRequest, payload: unknown) => ({
  ...body,
  paymentPayload: { ...body.paymentPayload, payload },
})

describe('7. INVALID_REQUEST | 400', () => {
  const malformed: [string, string][] = [
    ['no JSON', '{"email":'],
    ['something after the JSON', '{} {}'],
    ['the same key twice', '{"email":"a@example.com","email":"b@example.com"}'],
    ['__proto__', '{"__proto__":{"isAdmin":true}}'],
    ['__proto__, escaped', '{"\\u005f_proto__":{"isAdmin":true}}'],
    ['ten thousand levels', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['ten thousand levels that never end', '{"a":'.repeat(10_000)],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"{}"'],
    ['a number past all bounds', '1e400'],
  ]
  test.each(malformed)('malformed JSON | %s', async (_, body) => {
    expect(await notRefused(body, INVALID)).toEqual([])
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/json-seq'])(
    'malformed JSON | sent as %s',
    async (contentType) => {
      expect(await notRefused('{}', INVALID, contentType)).toEqual([])
    },
  )

  test('missing required fields | none of them, or no body at all', async () => {
    expect(await notRefused('{}', INVALID)).toEqual([])
    for (const [method, path, headers] of withBody())
      expect([path, ...outcomeOf(await facilitator.api[method](path).set(headers))]).toEqual([
        path,
        ...INVALID,
      ])
  })

  const amounts = [
    '1e4',
    '0x10',
    ' 10 ',
    '-0',
    '+5',
    '1.0',
    '\uff11\uff10',
    `1${'0'.repeat(80)}`,
    '',
    '-1',
    '010',
  ]
  const numbers = ['10000', '9007199254740993', '1e400', 'null', '-0', '[]', '{"toString":1}']
  test('missing required fields | an amount that is not a string of decimal digits', async () => {
    const body = await newPayment()
    for (const path of ['/api/v1/verify', '/api/v1/settle', '/api/v2/verify', '/api/v2/settle']) {
      const sent = JSON.stringify(path.includes('v2') ? inVersion2(body) : body)
      for (const amount of [...amounts.map((value) => JSON.stringify(value)), ...numbers]) {
        const changed = sent.replaceAll(/"(maxAmountRequired|amount)":"10000"/g, `"$1":${amount}`)
        const answer = await ask(path, {}).send(changed)
        expect([path, amount, ...outcomeOf(answer)]).toEqual([path, amount, ...INVALID])
      }
    }
    expect(await transfersFrom(rpcUrl, body.paymentPayload.payload.authorization.from)).toEqual([])
  })

  test('a page of a list that there cannot be | limit=-1, 1e9 and offset=NaN', async () => {
    for (const path of [
      '/api/v1/clients',
      '/api/v1/users/resources',
      '/api/v1/resources',
      '/api/v1/admin/users',
    ])
      for (const query of [
        'limit=-1',
        'limit=1e9',
        'limit=1000000000',
        'limit=0',
        'offset=NaN',
        'offset=-1',
        'limit=1&limit=2',
      ]) {
        const answer = await facilitator.api
          .get(`${path}?${query}`)
          .set(path.includes('admin') ? admin : user)
        expect([path, query, ...outcomeOf(answer)]).toEqual([path, query, ...INVALID])
      }
  })

  test('unknown network on `/networks/:id` | message indicating an unsupported network', async () => {
    for (const id of ['nowhere', 'BASE-SEPOLIA', '%00', '__proto__', '..%2f', 'x'.repeat(5_000)]) {
      const answer = await facilitator.api.get(`/api/v1/networks/${id}`)
      expect([id, ...outcomeOf(answer)]).toEqual([id, ...INVALID])
      expect(messageOf(answer)).toMatch(/unsupported network/i)
    }
  })
})

describe('7. INVALID_PAYLOAD | 400', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const payloads: [string, unknown][] = [
    ['no base64', '!!!!'],
    ['base64 of no JSON', base64('not JSON')],
    ['base64 of broken JSON', base64('{"signature":')],
    ['base64 of what is no UTF-8', Buffer.from([0xff, 0xfe, 0xfd]).toString('base64')],
    ['base64 of another JSON', base64('[]')],
    ['base64 of null', base64('null')],
    ['base64 of a base64 of JSON', base64(base64('{}'))],
    ['an object of nothing', {}],
    ['an object of something else', { signature: 1, authorization: [] }],
  ]
  test.each(payloads)('payment payload could not be decoded | %s', async (_, payload) => {
    const body = withPayload(await newPayment(), payload)
    for (const path of ['/api/v1/verify', '/api/v1/settle'])
      expect([path, ...outcomeOf(await ask(path, body))]).toEqual([path, 400, 'INVALID_PAYLOAD'])
  })
})

describe('7. UNAUTHORIZED | 401', () => {
  test('missing credentials | at every operation that needs some, with the scheme that it wants', async () => {
    const document = (await facilitator.api.get('/openapi.json').expect(200)).body as OpenApiDocument
    const guarded = operationsOf(document).filter(({ operation }) => operation.security.length > 0)
    for (const { method, path, operation } of guarded) {
      const url = path.replace('{id}', '1')
      const answer = await facilitator.api[method as Method](url)
      const scheme = operation.security.every((one) => 'clientId' in one) ? 'ClientKey' : 'Bearer'
      expect([method, url, ...outcomeOf(answer), answer.headers['www-authenticate']]).toEqual([
        ...[method, url, 401, 'UNAUTHORIZED', scheme],
      ])
    }
    expect(guarded.length).toBe(93)
  })

  test('invalid credentials | those of another mechanism, and malformed ones', async () => {
    const { api } = facilitator
    const token = user.Authorization.slice('Bearer '.length)
    for (const authorization of [
      'Bearer',
      'Bearer  ',
      `Basic ${token}`,
      token,
      `Bearer ${ADMIN_TOKEN}`,
      'Bearer \u00ff',
    ])
      expect(outcomeOf(await api.get('/api/v1/clients').set('Authorization', authorization))).toEqual([
        401,
        'UNAUTHORIZED',
      ])
    for (const authorization of ['Bearer', `Bearer ${token}`, ADMIN_TOKEN, `Bearer ${ADMIN_TOKEN}x`])
      expect(outcomeOf(await api.get('/admin/users').set('Authorization', authorization))).toEqual([
        401,
        'UNAUTHORIZED',
      ])
    const { 'X-Client-ID': id, 'X-Client-Token': secret } = client
    for (const key of [
      [id, ''],
      ['', secret],
      [secret, id],
      [id, `${secret}x`],
      [`${id} `, 'x'],
      [id, token],
    ])
      expect(
        outcomeOf(
          await api.get('/api/v1/supported').set({ 'X-Client-ID': key[0]!, 'X-Client-Token': key[1]! }),
        ),
      ).toEqual([401, 'UNAUTHORIZED'])
  })
})

describe('7. VERIFICATION_FAILED and SETTLEMENT_FAILED | 500', () => {
  test('error during verification, error during settlement | the chain is unavailable', async () => {
    const chain = await ownChain()
    const other = await testFacilitator({ rpcUrl: chain.rpcUrl })
    const key = await newClient(other.api)
    const body = await paymentRequest(await newPayer(chain.rpcUrl))
    await chain.stop()

    for (const [path, sent] of [
      ['/api/v1', body],
      ['/api/v2', inVersion2(body)],
    ] as const) {
      const verified = await ask(`${path}/verify`, sent, other, key)
      const settled = await ask(`${path}/settle`, sent, other, key)
      expect([outcomeOf(verified), outcomeOf(settled)]).toEqual([
        [500, 'VERIFICATION_FAILED'],
        [500, 'SETTLEMENT_FAILED'],
      ])
      for (const { text } of [verified, settled]) expect(text).not.toMatch(/127\.0\.0\.1|fetch|ECONN|\d{5}/)
    }
    expect(await other.database.prisma.settlement.count()).toBe(0)
  })
})

describe('7. INTERNAL_ERROR | 500', () => {
  test('unexpected server error | a statement that the database does not understand', async () => {
    const other = await testFacilitator({ rpcUrl, signerKeys: [] })
    await other.database.pool.query('ALTER TABLE users rename to no_users')
    const answer = await other.api.post('/api/v1/login').send(credentials)
    expect(outcomeOf(answer)).toEqual([500, 'INTERNAL_ERROR'])
    expect(answer.text).not.toMatch(/users|relation|table|prisma/i)
  })
})

describe('7. UNAVAILABLE | 503, beside the table', () => {
  test('a database outage leaks no details, and the service recovers', async () => {
    const other = await testFacilitator()
    const { api } = other
    const { email, password, accessToken } = await newUser(api)
    const key = await newClient(api)
    const bearer = { Authorization: `Bearer ${accessToken}` }
    const body = await newPayment()

    await withoutDatabase(other.databaseUrl, async () => {
      const failed = [
        await api.post('/api/v1/login').send({ email, password }),
        await api.get('/api/v1/clients').set(bearer),
        await api.get('/api/v1/resources'),
        await api.get('/api/v1/assets'),
        await ask('/api/v1/verify', body, other, key),
        await ask('/api/v1/settle', body, other, key),
      ]
      for (const answer of failed) {
        expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
        expect(answer.text).not.toMatch(/database|postgres|prisma|connection|select|[0-9a-f]{32}/i)
      }
      expect(outcomeOf(await api.get('/ready'))).toEqual([503, 'UNAVAILABLE'])
      await api.get('/health').expect(200)
    })

    expect((await ask('/api/v1/settle', body, other, key).expect(200)).body).toMatchObject({ success: true })
    await api.get('/ready').expect(200)
  })

  async function withoutDatabase(databaseUrl: string, work: () => Promise<void>) {
    const name = new URL(databaseUrl).pathname.slice(1)
    const { href } = Object.assign(new URL(databaseUrl), { pathname: 'postgres' })
    const server = openFacilitatorDatabase({ url: href, poolSize: 1 })
    await server.pool.query(`ALTER DATABASE ${name} allow_connections false`)
    await server.pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
      name,
    ])
    try {
      await work()
    } finally {
      await server.pool.query(`ALTER DATABASE ${name} allow_connections true`)
      await server.close()
    }
  }
})

describe('7. Rules', () => {
  test('1. | error body: `code`, `message`, optional `details`, all strings, as JSON, for every error', async () => {
    const { api } = facilitator
    const refused = [
      await ask('/api/v1/verify', {}),
      await ask('/api/v1/settle', withPayload(await newPayment(), 'x')),
      await api.get('/api/v1/clients'),
      await api.get('/api/v1/networks/nowhere'),
      await api.get('/nothing'),
      await api.delete('/api/v1/verify'),
      await ask('/api/v1/signup', credentials),
      await api.put('/api/v1/resources/2000000000').set(user).send({}),
    ]
    for (const { body, headers } of refused) {
      const { code, message, details = '', ...rest } = body as Record<string, unknown>
      expect([typeof code, typeof message, typeof details, rest]).toEqual(['string', 'string', 'string', {}])
      expect(headers['content-type']).toBe('application/json; charset=utf-8')
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    }
  })

  test('2. | login and refresh failures: 401 with `message`, of a refresh `details` too, and no `code`', async () => {
    const text = expect.any(String) as string
    const login = await ask('/api/v1/login', { ...credentials, password: 'another password' }).expect(401)
    expect(login.body).toEqual({ message: text })
    const refresh = await ask('/api/v1/token/refresh', { refresh_token: 'nonsense' }).expect(401)
    expect(refresh.body).toEqual({ message: text, details: text })
  })

  test('3. | a payment that fails validation or settlement: 200 with `isValid` or `success` false', async () => {
    const poor = await paymentRequest(await newPayer(rpcUrl, 1n))
    const expired = await paymentRequest(await newPayer(rpcUrl), { authorization: { validBefore: '1' } })
    const forged = { ...(await newPayment()), paymentPayload: (await newPayment()).paymentPayload }
    for (const body of [poor, expired, forged]) {
      const verified = await ask('/api/v1/verify', body).expect(200)
      expect(verified.body).toMatchObject({ isValid: false, payer: '' })
      const settled = await ask('/api/v1/settle', body).expect(200)
      expect(settled.body).toMatchObject({ success: false, transaction: '', payer: '', blockNumber: 0 })
    }
  })
})
