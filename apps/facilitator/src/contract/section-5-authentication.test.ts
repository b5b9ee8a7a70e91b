import { closeAll } from '@tollgate/testing'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import jwt from 'jsonwebtoken'
import {
  newClient,
  newUser,
  testFacilitator,
  type ClientHeaders,
  type TestFacilitator,
} from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'

const ADMIN_TOKEN = 'the-admin-token-of-this-test-which-is-long-enough'
const JWT_SECRET = 'the secret of this test, which is long enough'

type Mechanism = 'none' | 'user token' | 'client key' | 'admin token'
type Route = [method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, auth: Mechanism]

const table: Route[] = [
  ['GET', '/health', 'none'],
  ['GET', '/api/v1/status', 'none'],
  ['GET', '/api/v1/networks', 'none'],
  ['GET', '/api/v1/networks/:id', 'none'],
  ['GET', '/api/v1/assets', 'none'],
  ['POST', '/api/v1/verify', 'client key'],
  ['POST', '/api/v1/settle', 'client key'],
  ['GET', '/api/v1/supported', 'client key'],
  ['POST', '/api/v1/signup', 'none'],
  ['POST', '/api/v1/login', 'none'],
  ['POST', '/api/v1/token/refresh', 'none'],
  ['POST', '/api/v1/clients', 'user token'],
  ['GET', '/api/v1/clients', 'user token'],
  ['DELETE', '/api/v1/clients/:id', 'user token'],
  ['POST', '/api/v1/resources', 'user token'],
  ['GET', '/api/v1/users/resources', 'user token'],
  ['GET', '/api/v1/resources', 'none'],
  ['PUT', '/api/v1/resources/:id', 'user token'],
  ['GET', '/api/v1/metrics/daily', 'user token'],
  ['GET', '/api/v1/metrics/monthly', 'user token'],
  ['GET', '/api/v1/metrics/summary', 'user token'],
  ['GET', '/api/v1/x402-metrics/daily', 'user token'],
  ['GET', '/api/v1/x402-metrics/monthly', 'user token'],
  ['GET', '/api/v1/x402-metrics/summary', 'user token'],
  ...['/admin', '/api/v1/admin'].flatMap((admin): Route[] => [
    ['POST', `${admin}/users`, 'admin token'],
    ['GET', `${admin}/users`, 'admin token'],
    ['POST', `${admin}/assets`, 'admin token'],
  ]),
]
const WEBHOOK = '/api/v1/webhooks/:id'
const beside: Route[] = [
  ['GET', '/', 'none'],
  ['GET', '/console', 'none'],
  ['GET', '/console/development.js', 'none'],
  ['GET', '/console/assets/:file', 'none'],
  ['POST', '/api/v1/webhooks', 'user token'],
  ['GET', '/api/v1/webhooks', 'user token'],
  ['PUT', WEBHOOK, 'user token'],
  ['DELETE', WEBHOOK, 'user token'],
  ['POST', `${WEBHOOK}/secret`, 'user token'],
  ['POST', `${WEBHOOK}/test`, 'user token'],
  ['POST', `${WEBHOOK}/replay`, 'user token'],
  ['GET', `${WEBHOOK}/deliveries`, 'user token'],
  ['GET', `${WEBHOOK}/deliveries/:deliveryId`, 'user token'],
  ['POST', `${WEBHOOK}/deliveries/:deliveryId/replay`, 'user token'],
  ['GET', '/ready', 'none'],
  ['GET', '/openapi.json', 'none'],
  ['GET', '/docs', 'none'],
  ['GET', '/docs/:version/:file', 'none'],
  ['GET', '/llms.txt', 'none'],
  ['GET', '/discovery/resources', 'none'],
  ['GET', '/api/v1/discovery/resources', 'none'],
  ['GET', '/api/v2/discovery/resources', 'none'],
  ['POST', '/api/v2/verify', 'client key'],
  ['POST', '/api/v2/settle', 'client key'],
  ['GET', '/api/v2/supported', 'client key'],
  ['POST', '/api/v1/recipients/challenge', 'user token'],
  ['POST', '/api/v1/recipients', 'user token'],
  ['GET', '/api/v1/recipients', 'user token'],
  ['DELETE', '/api/v1/recipients/:id', 'user token'],
  ['GET', '/api/v1/sign-up', 'none'],
  ['POST', '/api/v1/logout', 'user token'],
  ['GET', '/api/v1/sessions', 'user token'],
  ['DELETE', '/api/v1/sessions', 'user token'],
  ['DELETE', '/api/v1/sessions/:id', 'user token'],
  ['POST', '/api/v1/password', 'user token'],
  ['POST', '/api/v1/password/reset', 'none'],
  ['GET', '/api/v1/users/me', 'user token'],
  ['DELETE', '/api/v1/users/me', 'user token'],
  ...['/admin', '/api/v1/admin'].flatMap((admin): Route[] => [
    ['POST', `${admin}/users/:id/password-reset`, 'admin token'],
    ['POST', `${admin}/invitations`, 'admin token'],
    ['GET', `${admin}/invitations`, 'admin token'],
    ['DELETE', `${admin}/invitations/:id`, 'admin token'],
    ['POST', `${admin}/recipients`, 'admin token'],
    ['GET', `${admin}/recipients`, 'admin token'],
    ['DELETE', `${admin}/recipients/:id`, 'admin token'],
    ['POST', `${admin}/denied-addresses`, 'admin token'],
    ['GET', `${admin}/denied-addresses`, 'admin token'],
    ['DELETE', `${admin}/denied-addresses/:address`, 'admin token'],
    ['GET', `${admin}/overview`, 'admin token'],
    ['GET', `${admin}/networks`, 'admin token'],
    ['GET', `${admin}/signers`, 'admin token'],
    ['GET', `${admin}/fees`, 'admin token'],
    ['GET', `${admin}/settlements`, 'admin token'],
    ['GET', `${admin}/settlements/:id`, 'admin token'],
    ['POST', `${admin}/settlements/:id/retry`, 'admin token'],
    ['GET', `${admin}/assets`, 'admin token'],
    ['POST', `${admin}/assets/:id/activate`, 'admin token'],
    ['POST', `${admin}/assets/:id/deactivate`, 'admin token'],
    ['POST', `${admin}/users/:id/disable`, 'admin token'],
    ['POST', `${admin}/users/:id/enable`, 'admin token'],
  ]),
  ['POST', '/verify', 'client key'],
  ['POST', '/settle', 'client key'],
  ['GET', '/supported', 'none'],
  ['GET', '/.well-known/x402', 'none'],
  ...['', '/api/v2'].flatMap((base): Route[] => [
    ['GET', `${base}/discovery/search`, 'none'],
    ['GET', `${base}/discovery/merchant`, 'none'],
  ]),
]
const routes = [...table, ...beside]
const guarded = (mechanism: Mechanism) => routes.filter(([, , auth]) => auth === mechanism)

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let accessToken: string
let refreshToken: string
let clientKey: ClientHeaders
let revokedKey: ClientHeaders
let expiredKey: ClientHeaders
beforeAll(async () => {
  facilitator = await testFacilitator({ variables: { ADMIN_TOKEN, JWT_SECRET } })
  api = facilitator.api
  clientKey = await newClient(api)
  revokedKey = await newClient(api)
  await facilitator.database.prisma.client.update({
    where: { id: revokedKey['X-Client-ID'] },
    data: { deletedAt: new Date() },
  })
  expiredKey = await newClient(api, { ttl_hours: 1 })
  await facilitator.database.prisma.client.update({
    where: { id: expiredKey['X-Client-ID'] },
    data: { expiresAt: new Date() },
  })
  const user = await newUser(api)
  accessToken = user.accessToken
  const login = await api.post('/api/v1/login').send({ email: user.email, password: user.password })
  refreshToken = (login.body as { data: { refresh_token: string } }).data.refresh_token
})
afterAll(closeAll)

type Headers = Record<string, string>
const bearer = (token: string): Headers => ({ Authorization: `Bearer ${token}` })

function send([method, path]: Route, headers: Headers = {}, on = api) {
  const at = path.replace('/networks/:id', '/networks/base-sepolia').replace(':id', '999999')
  const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'delete'
  const request = on[verb](at).set(headers)
  return method === 'POST' || method === 'PUT' ? request.send({}) : request
}

const gatewayToken = () =>
  jwt.sign({ sub: '1', wallet: '0x1', sid: 'x', iss: 'tollgate-gateway' }, JWT_SECRET, { expiresIn: 3600 })

/** Invalid credentials for each mechanism, by their fault. */
const wrong: Record<Exclude<Mechanism, 'none'>, () => Record<string, Headers>> = {
  'user token': () => ({
    missing: {},
    empty: { Authorization: '' },
    'without a scheme': { Authorization: accessToken },
    'without a token': { Authorization: 'Bearer' },
    'of another scheme': { Authorization: `Basic ${accessToken}` },
    misspelt: { Authorization: `Bearer: ${accessToken}` },
    'a tab after the scheme': { Authorization: `Bearer\t${accessToken}` },
    'two in one header': { Authorization: `Bearer ${accessToken}, Bearer ${accessToken}` },
    altered: bearer(`${accessToken}x`),
    nonsense: bearer('nonsense'),
    long: bearer('x'.repeat(10_000)),
    'a refresh token': bearer(refreshToken),
    'the admin token': bearer(ADMIN_TOKEN),
    'a client token': bearer(clientKey['X-Client-Token']),
    'a client key': clientKey,
    'the gateway’s': bearer(gatewayToken()),
    'in the client’s headers': { 'X-Client-ID': 'client', 'X-Client-Token': accessToken },
  }),
  'client key': () => ({
    missing: {},
    empty: { 'X-Client-ID': '', 'X-Client-Token': '' },
    'without its token': { 'X-Client-ID': clientKey['X-Client-ID'] },
    'without its id': { 'X-Client-Token': clientKey['X-Client-Token'] },
    'with an unknown id': { ...clientKey, 'X-Client-ID': 'client_0123456789abcdef01234567' },
    'with an id of odd letters': { ...clientKey, 'X-Client-ID': "' or true --" },
    'with a long id': { ...clientKey, 'X-Client-ID': 'x'.repeat(5_000) },
    'with its id in other letters': { ...clientKey, 'X-Client-ID': clientKey['X-Client-ID'].toUpperCase() },
    'with another token': { ...clientKey, 'X-Client-Token': randomBytes(32).toString('base64url') },
    "with another key's token": { ...clientKey, 'X-Client-Token': revokedKey['X-Client-Token'] },
    revoked: revokedKey,
    expired: expiredKey,
    'with a token cut short': { ...clientKey, 'X-Client-Token': clientKey['X-Client-Token'].slice(1) },
    'twice in one header': { ...clientKey, 'X-Client-Token': `${clientKey['X-Client-Token']}, x` },
    'as a bearer': bearer(clientKey['X-Client-Token']),
    'as Basic': {
      Authorization: `Basic ${Buffer.from(Object.values(clientKey).join(':')).toString('base64')}`,
    },
    'a user’s token for its token': { ...clientKey, 'X-Client-Token': accessToken },
    'a user’s token': bearer(accessToken),
    'the admin token': bearer(ADMIN_TOKEN),
    'the admin token for its token': { ...clientKey, 'X-Client-Token': ADMIN_TOKEN },
  }),
  'admin token': () => ({
    missing: {},
    empty: { Authorization: 'Bearer ' },
    'without a scheme': { Authorization: ADMIN_TOKEN },
    'of another scheme': { Authorization: `Basic ${ADMIN_TOKEN}` },
    altered: bearer(`${ADMIN_TOKEN}x`),
    'cut short': bearer(ADMIN_TOKEN.slice(0, -1)),
    'in other letters': bearer(ADMIN_TOKEN.toUpperCase()),
    undefined: bearer('undefined'),
    'a user’s': bearer(accessToken),
    'a refresh token': bearer(refreshToken),
    'a client key': clientKey,
    'a client token': bearer(clientKey['X-Client-Token']),
  }),
}
const right = {
  'user token': () => bearer(accessToken),
  'client key': () => clientKey,
  'admin token': () => bearer(ADMIN_TOKEN),
}

describe('4. Endpoints', () => {
  type Layer = { route?: { path: string; stack: { method?: string }[] }; handle: { stack?: Layer[] } }

  const served = (layers: Layer[]): string[] =>
    layers.flatMap(({ route, handle }) => [
      ...(route?.stack ?? []).flatMap(({ method }) =>
        method === undefined ? [] : [`${method.toUpperCase()} ${route?.path ?? ''}`],
      ),
      ...served(handle.stack ?? []),
    ])

  test('are those of this file, and no others', () => {
    const mounted = served((facilitator.app as unknown as { router: { stack: Layer[] } }).router.stack)
    const known = routes.map(
      ([method, path]) => `${method} ${path.replace(/^(\/api\/v1\/admin|\/admin|\/api\/v[12])/, '')}`,
    )
    expect([...new Set(mounted)].sort()).toEqual([...new Set(known)].sort())
  })
})

describe.each(['user token', 'client key', 'admin token'] as const)('5. %s', (mechanism) => {
  const challenge = mechanism === 'client key' ? /^ClientKey$/ : /^Bearer( error="invalid_token")?$/

  test.each(guarded(mechanism))(
    '%s %s | missing or invalid credentials give 401 UNAUTHORIZED',
    async (...route) => {
      for (const [what, headers] of Object.entries(wrong[mechanism]())) {
        const answer = await send(route, headers)
        expect([what, ...outcomeOf(answer)]).toEqual([what, 401, 'UNAUTHORIZED'])
        expect(answer.body).toEqual({ code: 'UNAUTHORIZED', message: expect.any(String) as string })
        expect(answer.headers['www-authenticate']).toMatch(challenge)
        expect(answer.headers['cache-control']).toBe('no-store')
      }
    },
  )

  test.each(guarded(mechanism))('%s %s | lets in who has it', async (...route) => {
    const isLogout = route[1].endsWith('/logout')
    const headers = isLogout ? bearer((await newUser(api)).accessToken) : right[mechanism]()
    const answer = await send(route, headers)
    expect([200, 400, 404]).toContain(answer.status)
    expect(answer.headers['cache-control']).toBe('no-store')
  })
})

test.each(guarded('client key'))(
  '5. scope | %s %s is what a key may do, or 403 FORBIDDEN',
  async (...route) => {
    const operation = route[1].split('/').at(-1) ?? ''
    const others = ['verify', 'settle', 'supported'].filter((other) => other !== operation).join(',')
    const answer = await send(route, await newClient(api, { scope: others }))
    expect(outcomeOf(answer)).toEqual([403, 'FORBIDDEN'])
    expect(answer.body).toEqual({ code: 'FORBIDDEN', message: expect.stringContaining(operation) as string })
    expect((await send(route, await newClient(api, { scope: operation }))).status).not.toBe(403)
  },
)

test.each(guarded('none'))(
  '5. none | %s %s responds without credentials, and ignores any',
  async (...route) => {
    const { status } = await send(route)
    expect(status).not.toBe(401)
    for (const headers of [bearer('nonsense'), { 'X-Client-ID': 'x', 'X-Client-Token': 'y' }])
      expect((await send(route, headers)).status).toBe(status)
  },
)

describe('5. Authorization', () => {
  async function statusOf(path: string, headers: OutgoingHttpHeaders): Promise<number | undefined> {
    const url = new URL(api.get(path).url)
    const sent = httpRequest(url, { headers }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode
  }
  const holders = () =>
    [
      ['/api/v1/clients', accessToken],
      ['/admin/users', ADMIN_TOKEN],
    ] as const

  test('the scheme is taken in any letter case, with spaces after it and after the token (RFC 9110, 11.1)', async () => {
    for (const [path, token] of holders())
      for (const form of [`bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`, `Bearer ${token}  `])
        expect([form, await statusOf(path, { Authorization: form })]).toEqual([form, 200])
  })

  test('two headers are invalid: a proxy may have read the other one', async () => {
    for (const [path, token] of holders()) {
      for (const other of [token, 'nonsense'])
        for (const pair of [
          [`Bearer ${token}`, `Bearer ${other}`],
          [`Bearer ${other}`, `Bearer ${token}`],
        ])
          expect([pair, await statusOf(path, { Authorization: pair })]).toEqual([pair, 401])
      expect(await statusOf(path, { Authorization: [`Bearer ${token}`] })).toBe(200)
    }
  })

  test('two client ids or two client tokens are invalid', async () => {
    const { 'X-Client-ID': id, 'X-Client-Token': token } = clientKey
    for (const headers of [
      { 'X-Client-ID': [id, id], 'X-Client-Token': token },
      { 'X-Client-ID': id, 'X-Client-Token': [token, token] },
    ])
      expect(await statusOf('/api/v1/supported', headers)).toBe(401)
    expect(await statusOf('/api/v1/supported', clientKey)).toBe(200)
  })

  test('a token in the query or the body is ignored', async () => {
    await api.get(`/api/v1/clients?access_token=${accessToken}`).expect(401)
    await api.post('/api/v1/clients').send({ title: 'Shop', access_token: accessToken }).expect(401)
    await api.get(`/admin/users?token=${ADMIN_TOKEN}`).expect(401)
  })
})

describe('5. Admin token', () => {
  test.each([undefined, ''])('rejects all requests if the configuration has %j', async (configured) => {
    const closed = await testFacilitator({
      variables: configured === undefined ? {} : { ADMIN_TOKEN: configured },
    })
    for (const headers of [
      {},
      bearer(''),
      bearer(' '),
      bearer('undefined'),
      bearer('null'),
      bearer(ADMIN_TOKEN),
    ])
      for (const route of guarded('admin token'))
        expect(outcomeOf(await send(route, headers, closed.api))).toEqual([401, 'UNAUTHORIZED'])
  })

  test("an admin user's own token is not the admin token", async () => {
    const body = { email: 'boss@example.com', password: 'a long password', is_admin: true }
    await api.post('/admin/users').set(bearer(ADMIN_TOKEN)).send(body).expect(200)
    const { data } = (await api.post('/api/v1/login').send(body)).body as { data: { access_token: string } }
    await api.get('/admin/users').set(bearer(data.access_token)).expect(401)
  })
})
