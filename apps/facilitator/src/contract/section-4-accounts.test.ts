import { closeAll } from '@tollgate/testing'
import { randomBytes } from 'node:crypto'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { expectRefused, nonStrings, type Body, type Send } from '../testing/fields'
import { outcomeOf } from '../testing/outcome'
import { bearer } from '../testing/resource'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const MALFORMED = [400, 'INVALID_REQUEST']

let api: TestFacilitator['api']
let facilitator: TestFacilitator
beforeAll(async () => {
  facilitator = await testFacilitator({ variables: { ADMIN_TOKEN } })
  api = facilitator.api
})
afterAll(closeAll)

const text = expect.any(String) as string
const time = expect.stringMatching(TIME) as string
const newEmail = () => `${randomBytes(8).toString('hex')}@example.com`
const credentials = (changes: Body = {}) => ({ email: newEmail(), password: 'a long password', ...changes })

const noEmail = [
  ...nonStrings,
  '',
  'x',
  '@',
  'a@',
  '@example.com',
  'a@b',
  'a b@example.com',
  'a@example.com ',
]
const oddEmail = ['a@example.com\u0000', 'a@example.com\r\nBcc: b@c.de', 'ａ@example.com', 'а@example.com']
const longEmail = [`${'a'.repeat(250)}@example.com`, 'a'.repeat(10_000)]
const noPassword = [...nonStrings, '', 'seven..', 'x'.repeat(257), 'x'.repeat(10_000)]
const oddPassword = ['long\u0000enough', 'long\r\nenough', '\ud800long enough', 'long enough\udc00']

const wrongEmails = [undefined, ...noEmail, ...oddEmail, ...longEmail, '\ud800@example.com']
const wrongPasswords = [undefined, ...noPassword, ...oddPassword]
const noObject = [[], [{}], 'text', 5, null, true]

describe('4. POST /signup', () => {
  const signup: Send = (body) =>
    api.post('/api/v1/signup').set('Content-Type', 'application/json').send(JSON.stringify(body))

  test('response 200 | `data` with `message` and `user` | 2. User: id, email, isAdmin, createdAt', async () => {
    const body = credentials()
    const answer = await api.post('/api/v1/signup').send(body)
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        data: {
          message: text,
          user: { id: expect.any(Number) as number, email: body.email, isAdmin: false, createdAt: time },
        },
      },
    ])
  })

  test('request | email | string', () => expectRefused(signup, credentials(), 'email', wrongEmails))
  test('request | password | string', () => expectRefused(signup, credentials(), 'password', wrongPasswords))

  test.each(noObject)('request | %j is no object: 400', async (body) => {
    expect(outcomeOf(await signup(body))).toEqual(MALFORMED)
  })

  test('request | nothing else: a request cannot create an admin', async () => {
    for (const claim of [{ is_admin: true }, { isAdmin: true }, { id: 1 }]) {
      const answer = await api.post('/api/v1/signup').send(credentials(claim)).expect(200)
      expect(answer.body).toMatchObject({ data: { user: { isAdmin: false } } })
    }
  })

  test('a taken email, in any letter case: 409 CONFLICT, and the account is unchanged', async () => {
    const { email, password } = await newUser(api)
    for (const same of [email, email.toUpperCase()]) {
      const answer = await signup(credentials({ email: same, password: 'another password' }))
      expect(outcomeOf(answer)).toEqual([409, 'CONFLICT'])
    }
    await api.post('/api/v1/login').send({ email, password }).expect(200)
    await api.post('/api/v1/login').send({ email, password: 'another password' }).expect(401)
  })

  test('of many at once with one email, one is signed up', async () => {
    const body = credentials()
    const answers = await Promise.all(Array.from({ length: 20 }, () => signup(body)))
    const codes = answers.map((answer) => outcomeOf(answer)[1])
    expect(codes.filter((code) => code === undefined)).toHaveLength(1)
    expect(codes.filter((code) => code === 'CONFLICT')).toHaveLength(19)
  })
})

describe('4. POST /login', () => {
  const login: Send = (body) =>
    api.post('/api/v1/login').set('Content-Type', 'application/json').send(JSON.stringify(body))

  test('response 200 | `data` with `message`, `access_token`, `refresh_token`, `id`', async () => {
    const body = credentials()
    const signedUp = (await api.post('/api/v1/signup').send(body)).body as { data: { user: { id: number } } }
    const answer = await api.post('/api/v1/login').send(body)
    expect([answer.status, answer.body]).toEqual([
      200,
      { data: { message: text, access_token: text, refresh_token: text, id: signedUp.data.user.id } },
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  test('bad credentials | 401 with body member `message` only', async () => {
    const { email, password } = await newUser(api)
    for (const wrong of [
      { password: `${password}x` },
      { password: '' },
      { email: newEmail() },
      { email: '' },
    ]) {
      const answer = await login({ email, password, ...wrong })
      expect([answer.status, answer.body]).toEqual([401, { message: text }])
    }
  })

  test('request | email | string', () =>
    expectRefused(login, credentials(), 'email', [undefined, ...nonStrings]))
  test('request | password | string', () =>
    expectRefused(login, credentials(), 'password', [undefined, ...nonStrings]))
  test.each(noObject)('request | %j is no object: 400', async (body) => {
    expect(outcomeOf(await login(body))).toEqual(MALFORMED)
  })
})

describe('4. POST /token/refresh', () => {
  const refresh: Send = (body) =>
    api.post('/api/v1/token/refresh').set('Content-Type', 'application/json').send(JSON.stringify(body))

  async function tokensOf() {
    const { email, password } = await newUser(api)
    const answer = await api.post('/api/v1/login').send({ email, password }).expect(200)
    return (answer.body as { data: { access_token: string; refresh_token: string } }).data
  }

  test('response 200 | `data` with `access_token`, which works, however often it is requested', async () => {
    const { refresh_token } = await tokensOf()
    for (let times = 0; times < 2; times++) {
      const answer = await api.post('/api/v1/token/refresh').send({ refresh_token })
      expect([answer.status, answer.body]).toEqual([200, { data: { access_token: text } }])
      expect(answer.headers['cache-control']).toBe('no-store')
      const { access_token } = (answer.body as { data: { access_token: string } }).data
      await api.get('/api/v1/clients').set(bearer(access_token)).expect(200)
    }
  })

  test('expired or invalid refresh token | 401 with `message` and `details`', async () => {
    const { access_token, refresh_token } = await tokensOf()
    const shortened = refresh_token.slice(0, -1)
    const odd = ['', '\u0000', '\ud800', "' or true --", 'ｒｅｆｒｅｓｈ', 'x'.repeat(10_000)]
    for (const token of [access_token, shortened, `${refresh_token} `, ADMIN_TOKEN, ...odd]) {
      const answer = await refresh({ refresh_token: token })
      expect([token, answer.status, answer.body]).toEqual([token, 401, { message: text, details: text }])
    }
  })

  test('request | refresh_token | string', () =>
    expectRefused(refresh, {}, 'refresh_token', [undefined, ...nonStrings]))
  test.each(noObject)('request | %j is no object: 400', async (body) => {
    expect(outcomeOf(await refresh(body))).toEqual(MALFORMED)
  })
})

describe('beside the table of section 4', () => {
  async function signedIn() {
    const { email, password } = await newUser(api)
    const answer = await api.post('/api/v1/login').send({ email, password }).expect(200)
    const { data } = answer.body as { data: { access_token: string; id: number } }
    return { email, password, id: data.id, bearer: bearer(data.access_token) }
  }

  test.each(['open', 'invitation', 'closed'])('GET /sign-up | `data` with `mode`: %s', async (SIGN_UP) => {
    const { api } = await testFacilitator({ variables: { SIGN_UP } })
    const answer = await api.get('/api/v1/sign-up')
    expect([answer.status, answer.body]).toEqual([200, { data: { mode: SIGN_UP } }])
  })

  test('GET /users/me | `data`, the user of the token and no other', async () => {
    const [user] = [await signedIn(), await signedIn()]
    for (const query of [{}, { id: 1 }]) {
      const answer = await api.get('/api/v1/users/me').query(query).set(user.bearer)
      const { id, email } = user
      expect([answer.status, answer.body]).toEqual([
        200,
        { data: { id, email, isAdmin: false, createdAt: time } },
      ])
    }
  })

  test('GET /sessions, DELETE /sessions/:id, DELETE /sessions, POST /logout | `data`', async () => {
    const user = await signedIn()
    const sessions = await api.get('/api/v1/sessions').set(user.bearer)
    const session = { id: text, createdAt: time, lastUsedAt: time, expiresAt: time, userAgent: null }
    const { data } = sessions.body as { data: { id: string; current: boolean }[] }
    expect(data).toEqual([
      expect.objectContaining({ current: expect.any(Boolean) as boolean }),
      expect.objectContaining({ ...session }),
    ])
    expect(data.map((one) => Object.keys(one).sort())).toEqual(
      data.map(() => [...Object.keys(session), 'current'].sort()),
    )
    const other = data.find(({ current }) => !current)!.id
    const ended = await api.delete(`/api/v1/sessions/${other}`).set(user.bearer)
    expect([ended.status, ended.body]).toEqual([200, { data: { deleted: other } }])
    const others = await api.delete('/api/v1/sessions').set(user.bearer)
    expect([others.status, others.body]).toEqual([200, { data: { deleted: 0 } }])
    const out = await api.post('/api/v1/logout').set(user.bearer)
    expect([out.status, out.body]).toEqual([200, { data: { message: text } }])
  })

  test('POST /password, POST /password/reset, DELETE /users/me | `data`', async () => {
    const user = await signedIn()
    const next = { current_password: user.password, new_password: 'another password' }
    const changed = await api.post('/api/v1/password').set(user.bearer).send(next)
    expect([changed.status, changed.body]).toEqual([200, { data: { message: text } }])

    const gone = await api.delete('/api/v1/users/me').set(user.bearer).send({ password: next.new_password })
    expect([gone.status, gone.body]).toEqual([200, { data: { deleted: user.id } }])
  })

  test.each(['/admin', '/api/v1/admin'])(
    'POST %s/users/:id/password-reset | `data` with `token`, `expiresAt`',
    async (admin) => {
      const { id } = await signedIn()
      const issued = await api.post(`${admin}/users/${id}/password-reset`).set(bearer(ADMIN_TOKEN))
      expect([issued.status, issued.body]).toEqual([200, { data: { token: text, expiresAt: time } }])
      const { token } = (issued.body as { data: { token: string } }).data
      const set = await api.post('/api/v1/password/reset').send({ token, password: 'another password' })
      expect([set.status, set.body]).toEqual([200, { data: { message: text } }])
    },
  )
})

describe.each(['/admin', '/api/v1/admin'])('4. %s/users', (admin) => {
  const create: Send = (body) =>
    api
      .post(`${admin}/users`)
      .set(bearer(ADMIN_TOKEN))
      .set('Content-Type', 'application/json')
      .send(JSON.stringify(body))
  const list = (query: string | object = {}) =>
    api.get(`${admin}/users`).set(bearer(ADMIN_TOKEN)).query(query)
  type User = { id: number; email: string; isAdmin: boolean; createdAt: string }
  const listed = async (query: object = {}) => ((await list(query).expect(200)).body as { data: User[] }).data

  test('POST | request `email`, `password`, `is_admin` | answers the user, who logs in and is what it says', async () => {
    for (const is_admin of [true, false, undefined]) {
      const body = credentials({ is_admin, email: newEmail().toUpperCase() })
      const answer = await create(body)
      expect([answer.status, answer.body]).toEqual([
        200,
        {
          data: {
            id: expect.any(Number) as number,
            email: body.email.toLowerCase(),
            isAdmin: is_admin ?? false,
            createdAt: time,
          },
        },
      ])
      await api.post('/api/v1/login').send(body).expect(200)
    }
  })

  test('POST | the password is stored as any other', async () => {
    const body = credentials()
    await create(body)
    const { passwordHash } = await facilitator.database.prisma.user.findUniqueOrThrow({
      where: { email: body.email },
    })
    expect(passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  test('POST | email | string', () => expectRefused(create, credentials(), 'email', wrongEmails))
  test('POST | password | string', () => expectRefused(create, credentials(), 'password', wrongPasswords))
  test('POST | is_admin | boolean', () =>
    expectRefused(create, credentials(), 'is_admin', [null, 'true', 'false', '', 0, 1, {}, [], [true]]))
  test.each(noObject)('POST | %j is no object: 400', async (body) => {
    expect(outcomeOf(await create(body))).toEqual(MALFORMED)
  })

  test('POST | an email that is taken, in any letter case and also at once: 409 CONFLICT', async () => {
    const body = credentials({ is_admin: true })
    const signup = () => api.post('/api/v1/signup').send(body)
    const answers = await Promise.all([create(body), create(body), signup(), signup()])
    const codes = answers.map((answer) => outcomeOf(answer)[1])
    expect(codes.filter((code) => code === undefined)).toHaveLength(1)
    expect(codes.filter((code) => code === 'CONFLICT')).toHaveLength(3)
    expect(outcomeOf(await create({ ...body, email: body.email.toUpperCase() }))).toEqual([409, 'CONFLICT'])
  })

  test('GET | lists all users, oldest first, without a password or its hash', async () => {
    const [first, second] = [await newUser(api), await newUser(api)]
    const all = await listed()
    const ids = all.map(({ id }) => id)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(all.slice(-2).map(({ email }) => email)).toEqual([first.email, second.email])
    const members = ['createdAt', 'disabledAt', 'email', 'feeSharePercent', 'id', 'isAdmin', 'liveKeys']
    for (const user of all) expect(Object.keys(user).sort()).toEqual(members)
    expect((await list()).text).not.toMatch(/argon2|password|hash/i)
  })

  test('GET | offset (default 0), limit (default and at most 100)', async () => {
    const all = await listed({ limit: 100 })
    expect(await listed()).toEqual(all)
    expect(await listed({ offset: 1, limit: 2 })).toEqual(all.slice(1, 3))
    expect(await listed({ offset: 1_000_000 })).toEqual([])
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=-1',
      'limit=1e9',
      'offset=NaN',
      'offset=-1',
      'limit=1&limit=2',
    ])
      expect([query, ...outcomeOf(await list(query))]).toEqual([query, ...MALFORMED])
  })
})
