import { closeAll } from '@tollgate/testing'
import { createSecretKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { newUser, testFacilitator, type Api, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { newSignedIn, SIGNED_IN, SIGNED_OUT, signIn, type SignedIn } from '../testing/sign-in'

const JWT_SECRET = 'the secret of this test, which is long enough'
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

let api: Api
let other: Api
let database: TestFacilitator['database']
const startedAt = Date.now()
let aheadMs = 0
beforeAll(async () => {
  const now = () => new Date(startedAt + aheadMs)
  const one = await testFacilitator({ variables: { JWT_SECRET }, now })
  ;({ api, database } = one)
  other = (await testFacilitator(one.settings)).api
})
beforeEach(() => (aheadMs = 0))
afterAll(closeAll)

type Listed = {
  id: string
  createdAt: string
  lastUsedAt: string
  expiresAt: string
  userAgent: string | null
  current: boolean
}
async function sessionsOf({ authorization }: Pick<SignedIn, 'authorization'>) {
  const answer = await api.get('/api/v1/sessions').set(authorization).expect(200)
  return (answer.body as { data: Listed[] }).data
}
const currentOf = async (user: SignedIn) => (await sessionsOf(user)).find(({ current }) => current)!.id
const end = (id: string, { authorization }: SignedIn) =>
  api.delete(`/api/v1/sessions/${id}`).set(authorization)
const refresh = (refresh_token: string) => api.post('/api/v1/token/refresh').send({ refresh_token })

async function refreshed({ refreshToken }: SignedIn) {
  const answer = await refresh(refreshToken).expect(200)
  return (answer.body as { data: { access_token: string } }).data.access_token
}

describe('GET /sessions', () => {
  test('lists each login, the last used first, with its client and the one of the request', async () => {
    const user = await newUser(api)
    aheadMs = 1
    const first = await signIn(api, user, 'Firefox\u00e9 on Linux')
    aheadMs = DAY_MS
    const second = await signIn(api, user, 'x'.repeat(1_000))
    const listed = await sessionsOf(second)
    expect(listed.map(({ userAgent, current }) => [userAgent, current])).toEqual([
      ['x'.repeat(200), true],
      ['Firefox on Linux', false],
      [null, false],
    ])
    const at = (ms: number) => new Date(startedAt + ms).toISOString()
    expect(listed[1]).toMatchObject({ createdAt: at(1), lastUsedAt: at(1), expiresAt: at(1 + 30 * DAY_MS) })

    aheadMs = DAY_MS + 2 * MINUTE_MS
    await refresh(first.refreshToken).expect(200)
    const again = await sessionsOf(second)
    expect(again.map(({ id }) => id)).toEqual([listed[1]!.id, listed[0]!.id, listed[2]!.id])
    expect(again[0]).toMatchObject({ createdAt: at(1), lastUsedAt: at(aheadMs), current: false })
    expect(JSON.stringify(again)).not.toContain(first.refreshToken)
  })

  test('a refresh is noted at most once a minute', async () => {
    const user = await newSignedIn(api)
    const versions = async () => {
      const { rows } = await database.pool.query<{ xmin: string }>(
        'SELECT xmin::text FROM refresh_tokens WHERE user_id = $1 ORDER BY hash',
        [user.id],
      )
      return rows.map(({ xmin }) => xmin)
    }
    const before = await versions()
    await refresh(user.refreshToken).expect(200)
    expect(await versions()).toEqual(before)
    aheadMs = MINUTE_MS + 1
    await Promise.all(Array.from({ length: 5 }, () => refresh(user.refreshToken).expect(200)))
    expect(await versions()).not.toEqual(before)
  })

  test('an expired session is not listed, and ends its access tokens', async () => {
    const user = await newUser(api)
    const first = await signIn(api, user)
    aheadMs = 30 * DAY_MS - MINUTE_MS
    const accessToken = await refreshed(first)
    const me = () => api.get('/api/v1/users/me').set('Authorization', `Bearer ${accessToken}`)
    await me().expect(200)
    aheadMs = 30 * DAY_MS
    await me().expect(401)
    expect(await sessionsOf(await signIn(api, user))).toHaveLength(1)
  })
})

describe('an ended session', () => {
  test.each<[string, (user: SignedIn) => Promise<unknown>]>([
    ['POST /logout', (user) => api.post('/api/v1/logout').set(user.authorization).expect(200)],
    ['DELETE /sessions/:id', async (user) => end(await currentOf(user), user).expect(200)],
  ])('by %s is refused at once on every replica; the others continue', async (_, leave) => {
    const user = await newUser(api)
    const [leaving, staying] = [await signIn(api, user), await signIn(api, user)]
    const stranger = await newSignedIn(api)
    for (const at of [api, other]) expect(await leaving.statusesAt(at)).toEqual(SIGNED_IN)
    await leave(leaving)
    for (const at of [other, api]) {
      expect(await leaving.statusesAt(at)).toEqual(SIGNED_OUT)
      for (const one of [staying, stranger]) expect(await one.statusesAt(at)).toEqual(SIGNED_IN)
    }
    expect(outcomeOf(await api.post('/api/v1/logout').set(leaving.authorization))).toEqual([
      401,
      'UNAUTHORIZED',
    ])
  })

  test('an access token that was refreshed from it is refused, too', async () => {
    const user = await newSignedIn(api)
    const accessToken = await refreshed(user)
    await end(await currentOf(user), user).expect(200)
    await api.get('/api/v1/clients').set('Authorization', `Bearer ${accessToken}`).expect(401)
  })

  test('DELETE /sessions ends all but that of the request', async () => {
    const user = await newUser(api)
    const [current, ...others] = [await signIn(api, user), await signIn(api, user), await signIn(api, user)]
    const stranger = await newSignedIn(api)
    const answer = await api.delete('/api/v1/sessions').set(current.authorization).expect(200)
    expect(answer.body).toEqual({ data: { deleted: 3 } })
    for (const one of others) expect(await one.statusesAt(other)).toEqual(SIGNED_OUT)
    for (const one of [current, stranger]) expect(await one.statusesAt(other)).toEqual(SIGNED_IN)
    const again = await api.delete('/api/v1/sessions').set(current.authorization).expect(200)
    expect(again.body).toEqual({ data: { deleted: 0 } })
  })

  test('two sessions that end each other at once do not wait for each other', async () => {
    const user = await newUser(api)
    const all = await Promise.all(Array.from({ length: 6 }, () => signIn(api, user)))
    const answers = await Promise.all(
      all.map(({ authorization }) => api.delete('/api/v1/sessions').set(authorization)),
    )
    expect(answers.map(({ status }) => status).every((status) => status === 200 || status === 401)).toBe(true)
    expect(answers.filter(({ status }) => status === 200)).not.toEqual([])
  })
})

describe('the session of another user', () => {
  test('is neither listed nor ended: 404, also for an admin', async () => {
    const [owner, stranger, admin] = [await newSignedIn(api), await newSignedIn(api), await newSignedIn(api)]
    await database.prisma.user.update({ where: { id: admin.id }, data: { isAdmin: true } })
    const id = await currentOf(owner)
    for (const one of [stranger, admin]) {
      expect((await sessionsOf(one)).map((session) => session.id)).not.toContain(id)
      expect(outcomeOf(await end(id, one))).toEqual([404, 'NOT_FOUND'])
      await api.delete('/api/v1/sessions').set(one.authorization).expect(200)
      await api.post('/api/v1/logout').set(one.authorization).expect(200)
    }
    expect(await owner.statusesAt(other)).toEqual(SIGNED_IN)
  })

  test.each(['1', 'x', '%00', '00000000-0000-0000-0000-00000000000g', "'%20or%20true"])(
    'the id %j is 400 or 404',
    async (id) => {
      const { status } = await end(id, await newSignedIn(api))
      expect([400, 404]).toContain(status)
    },
  )
})

test('an access token of the version before names no session: accepted, but not where a session is needed', async () => {
  const user = await newSignedIn(api)
  const { sid: _, ...claims } = jwt.decode(user.accessToken) as jwt.JwtPayload
  const token = jwt.sign(claims, createSecretKey(JWT_SECRET, 'utf8'), { algorithm: 'HS256' })
  const bearer = { Authorization: `Bearer ${token}` }
  await api.get('/api/v1/clients').set(bearer).expect(200)
  for (const answer of [
    await api.get('/api/v1/sessions').set(bearer),
    await api.delete('/api/v1/sessions').set(bearer),
    await api.post('/api/v1/logout').set(bearer),
    await api
      .post('/api/v1/password')
      .set(bearer)
      .send({ current_password: user.password, new_password: 'another password' }),
  ])
    expect(outcomeOf(answer)).toEqual([401, 'UNAUTHORIZED'])
  expect(await user.statusesAt(api)).toEqual(SIGNED_IN)
})
