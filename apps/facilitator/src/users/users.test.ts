import { closeAll } from '@tollgate/testing'
import { createHmac, createSecretKey, randomUUID } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { MAX_SESSIONS } from './session-store'

const JWT_SECRET = 'the secret of this test, which is long enough'
let facilitator: TestFacilitator
let api: TestFacilitator['api']
let aheadMs = 0

beforeAll(async () => {
  facilitator = await testFacilitator({
    variables: { JWT_SECRET },
    now: () => new Date(Date.now() + aheadMs),
  })
  api = facilitator.api
})
beforeEach(() => (aheadMs = 0))
afterAll(closeAll)

const login = (email: unknown, password: unknown) => api.post('/api/v1/login').send({ email, password })
const clients = (token: string) => api.get('/api/v1/clients').set('Authorization', `Bearer ${token}`)
const minutes = (count: number) => count * 60_000
const days = (count: number) => count * 86_400_000

describe('POST /signup', () => {
  test('returns the new user, and stores no password', async () => {
    const answer = await api
      .post('/api/v1/signup')
      .send({ email: 'Ada@Example.com', password: 'a long password' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      data: {
        message: expect.any(String) as string,
        user: {
          id: expect.any(Number) as number,
          email: 'ada@example.com',
          isAdmin: false,
          createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        },
      },
    })
    const stored = await facilitator.database.prisma.user.findUniqueOrThrow({
      where: { email: 'ada@example.com' },
    })
    expect(stored.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })
})

describe('POST /login', () => {
  test('returns both tokens', async () => {
    const { email, password } = await newUser(api)
    const answer = await login(email.toUpperCase(), password)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      data: {
        message: expect.any(String) as string,
        access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string,
        refresh_token: expect.stringMatching(/^[\w-]{43}$/) as string,
        id: expect.any(Number) as number,
      },
    })
  })
})

describe('an access token', () => {
  test('works for 15 minutes', async () => {
    const { accessToken } = await newUser(api)
    await clients(accessToken).expect(200)
    aheadMs = minutes(14)
    await clients(accessToken).expect(200)
    aheadMs = minutes(16)
    await clients(accessToken).expect(401)
  })

  test('of another service, algorithm or key, altered or missing is 401 UNAUTHORIZED', async () => {
    const { accessToken } = await newUser(api)
    const { sub } = jwt.decode(accessToken) as { sub: string }
    const now = Math.floor(Date.now() / 1000)
    const ours = { sub, iat: now, exp: now + 900, iss: 'tollgate-facilitator', aud: 'tollgate-facilitator' }
    const key = createSecretKey(JWT_SECRET, 'utf8')
    const sign = (claims: object, options: jwt.SignOptions = {}) => jwt.sign(claims, key, options)
    const [header = '', payload = '', signature = ''] = accessToken.split('.')
    for (const good of [sign(ours), byHand({ alg: 'HS256' }, ours, JWT_SECRET)])
      await clients(good).expect(200)

    const refused = {
      'the gateway’s': sign({ ...ours, iss: 'tollgate-gateway' }),
      'for the gateway': sign({ ...ours, aud: 'tollgate-gateway' }),
      'of no service': sign({ sub, iat: now, exp: now + 900 }),
      'of another algorithm': sign(ours, { algorithm: 'HS512' }),
      'of another secret': jwt.sign(ours, 'another secret that is long enough too'),
      'of a user who does not exist': sign({ ...ours, sub: '999999' }),
      'of no number': sign({ ...ours, sub: `${sub}; drop table users` }),
      'of a session that never was': sign({ ...ours, sid: randomUUID() }),
      'of a session of another user': sign({ ...ours, sid: sessionOf(await newUser(api)) }),
      'of a session id that is none': sign({ ...ours, sid: "' or true --" }),
      'of several sessions': sign({ ...ours, sid: [randomUUID()] }),
      'without a subject': sign({ ...ours, sub: undefined }),
      'of two users': sign({ ...ours, sub: undefined, id: 1, user_id: sub }),
      expired: sign({ ...ours, exp: now - 1 }),
      'not valid yet': sign({ ...ours, nbf: now + 60 }),
      'longer-lived than ours are': sign({ ...ours, iat: now - 901, exp: now + 900 }),
      withoutIat: byHand({ alg: 'HS256' }, { ...ours, iat: undefined }, JWT_SECRET),
      'with other claims': `${header}.${encode({ ...ours, sub: '1', exp: 9e9 })}.${signature}`,
      'with no algorithm': `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`,
      'with no algorithm, but signed': `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.${signature}`,
      'with none in other letters': `${encode({ alg: 'nOnE', typ: 'JWT' })}.${payload}.`,
      'with its algorithm in other letters': byHand({ alg: 'hs256' }, ours, JWT_SECRET),
      'signed by an empty file that its kid names': byHand({ alg: 'HS256', kid: '/dev/null' }, ours, ''),
      'signed by the text that its kid is': byHand({ alg: 'HS256', kid: 'a secret' }, ours, 'a secret'),
      'signed by a key that it brings': byHand(
        { alg: 'HS256', jwk: { kty: 'oct', k: encode('a secret') } },
        ours,
        'a secret',
      ),
      'without its signature': `${header}.${payload}.`,
      'in two parts': `${header}.${payload}`,
      'in four parts': `${accessToken}.${signature}`,
      empty: '',
      nonsense: 'nonsense',
    }
    for (const [what, token] of Object.entries(refused))
      expect([what, ...outcomeOf(await clients(token))]).toEqual([what, 401, 'UNAUTHORIZED'])
  })

  test('authenticates its user until the user is deleted', async () => {
    const { email, accessToken } = await newUser(api)
    await clients(accessToken).expect(200)
    await facilitator.database.pool.query(
      `WITH gone AS (DELETE FROM refresh_tokens USING users WHERE users.id = user_id AND email = $1)
       DELETE FROM users WHERE email = $1`,
      [email],
    )
    expect(outcomeOf(await clients(accessToken))).toEqual([401, 'UNAUTHORIZED'])
  })
})

const sessionOf = ({ accessToken }: { accessToken: string }) =>
  (jwt.decode(accessToken) as { sid: string }).sid

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function byHand(header: object, claims: object, secret: string) {
  const content = `${encode(header)}.${encode(claims)}`
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`
}

describe('POST /token/refresh', () => {
  const refresh = (token: unknown) => api.post('/api/v1/token/refresh').send({ refresh_token: token })
  async function refreshToken() {
    const { email, password } = await newUser(api)
    return ((await login(email, password)).body as { data: { refresh_token: string } }).data.refresh_token
  }

  test('returns a valid access token, for 30 days', async () => {
    const token = await refreshToken()
    const answer = await refresh(token).expect(200)
    expect(answer.body).toEqual({ data: { access_token: expect.any(String) as string } })
    await clients((answer.body as { data: { access_token: string } }).data.access_token).expect(200)

    aheadMs = days(29)
    await refresh(token).expect(200)
    aheadMs = days(31)
    await refresh(token).expect(401)
  })

  test('is rejected as an access token, and stored only as a hash', async () => {
    const token = await refreshToken()
    await clients(token).expect(401)
    const stored = await facilitator.database.prisma.refreshToken.findMany()
    expect(stored.map(({ hash }) => hash.length)).toContain(32)
    expect(JSON.stringify(stored)).not.toContain(token)
  })
})

describe('the refresh tokens of one user', () => {
  const refreshTokenOf = async ({ email, password }: { email: string; password: string }) =>
    ((await login(email, password).expect(200)).body as { data: { refresh_token: string } }).data
      .refresh_token
  const refresh = (refresh_token: string) => api.post('/api/v1/token/refresh').send({ refresh_token })

  async function kept(email: string) {
    const { rows } = await facilitator.database.pool.query<{ kept: number }>(
      'SELECT count(*)::int AS kept FROM refresh_tokens JOIN users ON users.id = user_id WHERE email = $1',
      [email],
    )
    return rows[0]?.kept
  }
  const loginsBefore = (email: string, count: number, expiresIn = '29 days') =>
    facilitator.database.pool.query(
      `INSERT INTO refresh_tokens (hash, user_id, created_at, expires_at)
       SELECT sha256((email || n || $3)::bytea), id, now() - INTERVAL '1 day', now() + $3::INTERVAL
       FROM users, generate_series(1, $2) n WHERE email = $1`,
      [email, count, expiresIn],
    )

  test(`are at most ${MAX_SESSIONS}: the oldest are deleted, and the newest work`, async () => {
    const [user, other] = [await newUser(api), await newUser(api)]
    const foreign = await refreshTokenOf(other)
    const first = await refreshTokenOf(user)
    await loginsBefore(user.email, MAX_SESSIONS + 50)
    aheadMs = 1
    const second = await refreshTokenOf(user)
    expect(await kept(user.email)).toBe(MAX_SESSIONS)
    for (const token of [first, second, foreign]) await refresh(token).expect(200)

    aheadMs = 60_000
    const logins = await Promise.all(Array.from({ length: 40 }, () => refreshTokenOf(user)))
    for (const token of logins) await refresh(token).expect(200)
    aheadMs = 120_000
    await refreshTokenOf(user)
    expect(await kept(user.email)).toBe(MAX_SESSIONS)
    for (const token of [first, second, foreign]) await refresh(token).expect(200)
  })

  test('are deleted by the next login after their expiry', async () => {
    const user = await newUser(api)
    await loginsBefore(user.email, 20, '-1 second')
    await refreshTokenOf(user)
    expect(await kept(user.email)).toBe(2)
  })
})

test('rate limits are per user', async () => {
  const limited = await testFacilitator({ variables: { RATE_LIMIT_USERS_PER_MINUTE: '3' } })
  const [hasty, other] = [await newUser(limited.api), await newUser(limited.api)]
  const ask = (token: string) => limited.api.get('/api/v1/clients').set('Authorization', `Bearer ${token}`)
  for (let i = 0; i < 3; i++) {
    await ask(hasty.accessToken).expect(200)
    await ask(`${hasty.accessToken}x`).expect(401)
  }
  const refused = await ask(hasty.accessToken)
  expect(outcomeOf(refused)).toEqual([429, 'RATE_LIMITED'])
  expect(refused.headers['retry-after']).toMatch(/^\d+$/)
  await ask(other.accessToken).expect(200)
})

test('signup and login are limited per address', async () => {
  const variables = { RATE_LIMIT_ACCOUNTS_PER_MINUTE: '3' }
  const limited = await testFacilitator({ variables })
  for (let i = 0; i < 3; i++)
    await limited.api.post('/api/v1/login').send({ email: 'a', password: 'b' }).expect(401)
  const answer = await limited.api.post('/api/v1/login').send({ email: 'a', password: 'b' })
  expect([answer.status, (answer.body as { code: string }).code]).toEqual([429, 'RATE_LIMITED'])
  expect(answer.headers['retry-after']).toMatch(/^\d+$/)
})
