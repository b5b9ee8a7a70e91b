import { closeAll } from '@tollgate/testing'
import { createSecretKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { newSigner, sharedChain } from '../testing/chain'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'

const JWT_SECRET = 'the secret of this test, which is long enough'
let facilitator: TestFacilitator
let api: TestFacilitator['api']
let aheadMs = 0

beforeAll(async () => {
  const rpcUrl = sharedChain()
  const signer = await newSigner(rpcUrl)
  facilitator = await testFacilitator({
    rpcUrl,
    signerKeys: [signer.privateKey],
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
  test('answers the new user, and keeps no password', async () => {
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

  test('gives an email to one user only, whatever its letter case, also of two at once', async () => {
    const body = { email: 'twice@example.com', password: 'a long password' }
    const answers = await Promise.all([
      api.post('/api/v1/signup').send(body),
      api.post('/api/v1/signup').send({ ...body, email: 'TWICE@example.com' }),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test.each([
    { email: 'no email', password: 'a long password' },
    { email: 'a@example.com\u0000', password: 'a long password' },
    { email: 'аda@example.com', password: 'a long password' },
    { email: 'a@example.com', password: 'short' },
    { email: 'a@example.com' },
    {},
  ])('answers 400 to %j', async (body) => {
    const answer = await api.post('/api/v1/signup').send(body)
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('POST /login', () => {
  test('answers both tokens', async () => {
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

  test('answers a wrong password, an unknown email and what is no email alike, with a message only', async () => {
    const { email, password } = await newUser(api)
    const answers = await Promise.all([
      login(email, 'wrong'),
      login('nobody@example.com', password),
      login('no email\u0000', password),
    ])
    for (const { status, body } of answers) {
      expect(status).toBe(401)
      expect(body).toEqual({ message: 'Wrong email or password' })
    }
  })

  test('takes as long for an unknown email as for a wrong password', async () => {
    const { email } = await newUser(api)
    const times = { known: [] as number[], unknown: [] as number[] }
    for (let i = 0; i < 7; i++)
      for (const [who, address] of [
        ['known', email],
        ['unknown', 'nobody@example.com'],
      ] as const) {
        const startedAt = performance.now()
        await login(address, 'wrong password').expect(401)
        times[who].push(performance.now() - startedAt)
      }
    // The fastest of each: what a busy machine adds is no part of the answer's own time.
    const [known, unknown] = [Math.min(...times.known), Math.min(...times.unknown)]
    expect(Math.max(known, unknown) / Math.min(known, unknown)).toBeLessThan(2)
  })

  test('answers 400 where something is missing', async () => {
    for (const body of [{}, { email: 'a@example.com' }, { email: 1, password: 2 }])
      await api.post('/api/v1/login').send(body).expect(400)
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

  test('of another service, algorithm or key, or altered, or none, is 401 UNAUTHORIZED', async () => {
    const { accessToken } = await newUser(api)
    const key = createSecretKey(JWT_SECRET, 'utf8')
    const ours = { iss: 'tollgate-facilitator', aud: 'tollgate-facilitator', sub: '1' }
    const inAnHour = { expiresIn: 3600 } as const
    const [header = '', payload = '', signature = ''] = accessToken.split('.')
    const forged = Buffer.from(JSON.stringify({ ...ours, sub: '2', exp: 9e9 })).toString('base64url')
    const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
    const tokens = [
      jwt.sign({ ...ours, iss: 'tollgate-gateway' }, key, inAnHour),
      jwt.sign({ ...ours, aud: 'tollgate-gateway' }, key, inAnHour),
      jwt.sign({ sub: '1' }, key, inAnHour),
      jwt.sign(ours, key, { ...inAnHour, algorithm: 'HS512' }),
      jwt.sign(ours, 'another secret that is long enough too', inAnHour),
      jwt.sign({ ...ours, sub: '999999' }, key, inAnHour),
      jwt.sign({ ...ours, sub: '1; drop table users' }, key, inAnHour),
      `${header}.${forged}.${signature}`,
      `${none}.${payload}.`,
      '',
      'nonsense',
    ]
    for (const token of tokens) {
      const answer = await clients(token)
      expect([answer.status, (answer.body as { code: string }).code]).toEqual([401, 'UNAUTHORIZED'])
    }
    await api.get('/api/v1/clients').expect(401)
    await api.get('/api/v1/clients').set('Authorization', accessToken).expect(401)
  })
})

describe('POST /token/refresh', () => {
  const refresh = (token: unknown) => api.post('/api/v1/token/refresh').send({ refresh_token: token })
  async function refreshToken() {
    const { email, password } = await newUser(api)
    return ((await login(email, password)).body as { data: { refresh_token: string } }).data.refresh_token
  }

  test('answers an access token that works, for 30 days', async () => {
    const token = await refreshToken()
    const answer = await refresh(token).expect(200)
    expect(answer.body).toEqual({ data: { access_token: expect.any(String) as string } })
    await clients((answer.body as { data: { access_token: string } }).data.access_token).expect(200)

    aheadMs = days(29)
    await refresh(token).expect(200)
    aheadMs = days(31)
    await refresh(token).expect(401)
  })

  test('answers an invalid or expired one with message and details, and no code', async () => {
    const { accessToken } = await newUser(api)
    for (const token of ['nonsense', '\u0000', accessToken]) {
      const answer = await refresh(token)
      expect(answer.status).toBe(401)
      expect(answer.body).toEqual({
        message: expect.any(String) as string,
        details: expect.any(String) as string,
      })
    }
  })

  test('is not taken as an access token, and is stored as a hash only', async () => {
    const token = await refreshToken()
    await clients(token).expect(401)
    const stored = await facilitator.database.prisma.refreshToken.findMany()
    expect(stored.map(({ hash }) => hash.length)).toContain(32)
    expect(JSON.stringify(stored)).not.toContain(token)
  })
})

test('signup and login from one address are limited', async () => {
  const rpcUrl = sharedChain()
  const variables = { RATE_LIMIT_ACCOUNTS_PER_MINUTE: '3' }
  const limited = await testFacilitator({
    rpcUrl,
    signerKeys: [(await newSigner(rpcUrl)).privateKey],
    variables,
  })
  for (let i = 0; i < 3; i++)
    await limited.api.post('/api/v1/login').send({ email: 'a', password: 'b' }).expect(401)
  const answer = await limited.api.post('/api/v1/login').send({ email: 'a', password: 'b' })
  expect([answer.status, (answer.body as { code: string }).code]).toEqual([429, 'RATE_LIMITED'])
  expect(answer.headers['retry-after']).toMatch(/^\d+$/)
})
