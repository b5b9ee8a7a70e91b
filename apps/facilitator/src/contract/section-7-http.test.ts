import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { closeAll } from '@tollgate/testing'
import { newClient, newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'

let facilitator: TestFacilitator
beforeAll(async () => {
  facilitator = await testFacilitator()
})
afterAll(closeAll)

type Method = 'get' | 'post' | 'put' | 'delete'

const post = (path: string, bytes: Buffer, headers: Record<string, string> = {}) =>
  facilitator.api
    .post(path)
    .set({ 'Content-Type': 'application/json', ...headers })
    .serialize((sent: unknown) => sent as string)
    .send(bytes)

describe('beside the table of section 7', () => {
  test('404 | an unknown path', async () => {
    const paths = [
      '/api',
      '/api/v1',
      '/api/verify',
      '/api/v3/verify',
      '/api/v1/admin',
      '/metrics',
      '/api/v1/toString',
    ]
    for (const path of paths)
      expect([path, ...outcomeOf(await facilitator.api.get(path))]).toEqual([path, 404, 'NOT_FOUND'])
  })

  test('405 with Allow | a method that a path is not served with', async () => {
    const methods: [Method, string, string][] = [
      ['get', '/api/v1/verify', 'POST'],
      ['put', '/api/v2/settle', 'POST'],
      ['post', '/api/v1/networks', 'GET, HEAD'],
      ['put', '/api/v1/clients', 'POST, GET, HEAD'],
      ['get', '/api/v1/clients/x', 'DELETE'],
      ['delete', '/api/v1/resources/1', 'PUT'],
      ['delete', '/admin/users', 'POST, GET, HEAD'],
      ['put', '/api/v1/admin/assets', 'POST, GET, HEAD'],
      ['get', '/api/v1/admin/assets/1/activate', 'POST'],
      ['post', '/health', 'GET, HEAD'],
      ['post', '/api/v1/sign-up', 'GET, HEAD'],
      ['get', '/api/v1/logout', 'POST'],
      ['put', '/api/v1/sessions', 'GET, DELETE, HEAD'],
      ['get', '/api/v1/sessions/x', 'DELETE'],
      ['get', '/api/v1/password', 'POST'],
      ['get', '/api/v1/password/reset', 'POST'],
      ['post', '/api/v1/users/me', 'GET, DELETE, HEAD'],
      ['get', '/admin/users/1/password-reset', 'POST'],
    ]
    for (const [method, path, allowed] of methods) {
      const answer = await facilitator.api[method](path)
      expect([path, ...outcomeOf(answer), answer.headers['allow']]).toEqual([
        ...[path, 405, 'METHOD_NOT_ALLOWED', allowed],
      ])
    }
  })

  const open = ['/api/v1/signup', '/api/v1/login', '/api/v1/token/refresh', '/api/v1/password/reset']
  const guarded = [
    '/api/v1/verify',
    '/api/v2/settle',
    '/api/v1/clients',
    '/api/v1/resources',
    '/api/v1/password',
    '/admin/assets',
  ]

  async function credentials() {
    const { accessToken } = await newUser(facilitator.api)
    return { ...(await newClient(facilitator.api)), Authorization: `Bearer ${accessToken}` }
  }
  const takers = [...open, ...guarded.slice(0, 5)]

  test('413 | a body of five million characters', async () => {
    const known = await credentials()
    const large = Buffer.from(`{"email":"${'x'.repeat(5_000_000)}"}`)
    for (const path of takers)
      expect([path, ...outcomeOf(await post(path, large, known))]).toEqual([
        ...[path, 413, 'PAYLOAD_TOO_LARGE'],
      ])
  })

  test('415 | a body in another encoding of characters, or compressed', async () => {
    const known = await credentials()
    const strange = [
      { 'Content-Type': 'application/json; charset=utf-16' },
      ...['gzip', 'br', 'deflate', 'secret'].map((encoding) => ({ 'Content-Encoding': encoding })),
    ]
    for (const path of takers)
      for (const headers of strange)
        expect([path, ...outcomeOf(await post(path, gzipSync('{}'), { ...known, ...headers }))]).toEqual([
          ...[path, 415, 'UNSUPPORTED_MEDIA_TYPE'],
        ])
  })

  test('401 | any body without credentials, which is not read', async () => {
    for (const path of guarded)
      for (const bytes of [Buffer.from('{'), Buffer.alloc(5_000_000, '['), gzipSync('[')])
        expect([path, ...outcomeOf(await post(path, bytes, { 'Content-Encoding': 'gzip' }))]).toEqual([
          ...[path, 401, 'UNAUTHORIZED'],
        ])
  })

  test('401 | a body that never comes', async () => {
    for (const path of guarded) {
      const socket = connect(Number(new URL(facilitator.url).port), '127.0.0.1')
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n{`,
      )
      const [answer] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      expect([path, answer.toString().split('\r\n')[0]]).toEqual([path, 'HTTP/1.1 401 Unauthorized'])
    }
  })

  test('429 | bodies that weigh more than their client key may send', async () => {
    const { api } = await testFacilitator({ variables: { RATE_LIMIT_PAYMENTS_PER_MINUTE: '10' } })
    const client = await newClient(api)
    const verify = async (text: string) =>
      outcomeOf(await api.post('/api/v1/verify').set(client).type('application/json').send(text))
    expect(await verify('{'.padEnd(160_000))).toEqual([400, 'INVALID_REQUEST'])
    expect(await verify('{')).toEqual([429, 'RATE_LIMITED'])
  })

  test('400 | a body with more values than any payment has', async () => {
    const known = await credentials()
    const bytes = Buffer.from(`{"paymentPayload":[${Array(80_000).fill('{}').join()}]}`)
    for (const path of takers) {
      const answer = await post(path, bytes, known)
      expect([path, ...outcomeOf(answer)]).toEqual([path, 400, 'INVALID_REQUEST'])
      expect((answer.body as { message: string }).message).toMatch(/more than 1000 entries/)
    }
  })
})

describe('bytes on the wire', () => {
  async function raw(bytes: string): Promise<string> {
    const socket = connect(Number(new URL(facilitator.url).port), '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    socket.on('error', () => undefined)
    socket.write(bytes, 'latin1')
    await once(socket, 'close')
    return answer
  }

  const request = (line: string, headers: string[], body = '') =>
    [`${line} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers, '', body].join('\r\n')
  const login = (body: string, ...headers: string[]) =>
    request('POST /api/v1/login', ['Content-Type: application/json', ...headers], body)

  const attacks: [string, string, number, string][] = [
    ['what is no HTTP', 'hello\r\n\r\n', 400, 'INVALID_REQUEST'],
    ['no host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'INVALID_REQUEST'],
    ['two hosts', request('GET /health', ['Host: b']), 400, 'INVALID_REQUEST'],
    ['a NUL in a header', request('GET /health', ['X-Client-ID: a\0b']), 400, 'INVALID_REQUEST'],
    ['a header line without a name', request('GET /health', [': x']), 400, 'INVALID_REQUEST'],
    [
      '17 KB of headers',
      request('GET /health', [`X-Client-ID: ${'x'.repeat(17_000)}`]),
      431,
      'HEADERS_TOO_LARGE',
    ],
    ['a path of 17 KB', request(`GET /${'x'.repeat(17_000)}`, []), 431, 'HEADERS_TOO_LARGE'],
    ['a path that is broken', request('GET /api/v1/networks/%zz', []), 400, 'INVALID_REQUEST'],
    ['a tunnel', request('CONNECT evil.example:443', []), 405, 'METHOD_NOT_ALLOWED'],
    ['two lengths of a body', login('{}', 'Content-Length: 2', 'Content-Length: 3'), 400, 'INVALID_REQUEST'],
    [
      'a length and chunks',
      login('0\r\n\r\n', 'Content-Length: 5', 'Transfer-Encoding: chunked'),
      400,
      'INVALID_REQUEST',
    ],
    ['invalid chunks', login('zz\r\n', 'Transfer-Encoding: chunked'), 400, 'INVALID_REQUEST'],
    ['bytes that are not UTF-8', login('"\xff\xfe"', 'Content-Length: 4'), 400, 'INVALID_REQUEST'],
    [
      'an unsupported Expect header',
      login('{}', 'Expect: the moon', 'Content-Length: 2'),
      417,
      'EXPECTATION_FAILED',
    ],
  ]
  test.each(attacks)('%s | is refused in the error shape', async (_, bytes, status, code) => {
    const answer = await raw(bytes)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(head).toMatch(/^x-request-id: /im)
    expect(JSON.parse(body)).toMatchObject({ code, message: expect.any(String) as string })
  })

  test('a line break in a value | makes no header and no second answer', async () => {
    const answer = await raw(request('GET /api/v1/networks/a%0d%0aSet-Cookie:%20a=b', []))
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).not.toMatch(/^set-cookie/im)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })

  test('after all of that | the service serves', async () => {
    await facilitator.api.get('/ready').expect(200)
  })
})
