import { closeAll } from '@tollgate/testing'
import { newUser, testFacilitator, type Api, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { whileBlocked } from '../testing/row-locks'
import { newSignedIn, SIGNED_IN, SIGNED_OUT, signIn, type SignedIn } from '../testing/sign-in'

const NEXT = 'the next password'

let api: Api
let other: Api
let database: TestFacilitator['database']
beforeAll(async () => {
  const one = await testFacilitator({ variables: { JWT_SECRET: 's'.repeat(32) } })
  ;({ api, database } = one)
  other = (await testFacilitator(one.settings)).api
})
afterAll(closeAll)

const change = (user: SignedIn, body: object = {}) =>
  api
    .post('/api/v1/password')
    .set(user.authorization)
    .send({ current_password: user.password, new_password: NEXT, ...body })
const login = ({ email }: { email: string }, password: string, at = api) =>
  at.post('/api/v1/login').send({ email, password })

test('a changed password logs in, the one before does not, and all other sessions have ended on every replica', async () => {
  const user = await newUser(api)
  const [changing, thief] = [await signIn(api, user), await signIn(api, user)]
  const stranger = await newSignedIn(api)
  await change(changing).expect(200)
  for (const at of [other, api]) {
    expect(await thief.statusesAt(at)).toEqual(SIGNED_OUT)
    expect(await changing.statusesAt(at)).toEqual(SIGNED_IN)
    expect(await stranger.statusesAt(at)).toEqual(SIGNED_IN)
    expect((await login(user, user.password, at)).status).toBe(401)
    expect((await login(user, NEXT, at)).status).toBe(200)
  }
})

test('a wrong current password changes nothing: also the password of another user', async () => {
  const [user, stranger] = [await newSignedIn(api), await newSignedIn(api)]
  for (const current_password of ['a wrong password', '', stranger.password, NEXT])
    expect(outcomeOf(await change(user, { current_password }))).toEqual([403, 'FORBIDDEN'])
  const { id } = stranger
  expect(
    outcomeOf(await change(user, { current_password: stranger.password, id, email: stranger.email })),
  ).toEqual([403, 'FORBIDDEN'])
  for (const one of [user, stranger]) {
    expect((await login(one, one.password)).status).toBe(200)
    expect(await one.statusesAt(api)).toEqual(SIGNED_IN)
  }
})

test('of changes at once with the same current password one wins', async () => {
  const user = await newSignedIn(api)
  const nexts = Array.from({ length: 8 }, (_, index) => `the next password ${index}`)
  const answers = await Promise.all(nexts.map((new_password) => change(user, { new_password })))
  expect(answers.map(outcomeOf).filter(([status]) => status !== 200)).toEqual(
    Array.from({ length: 7 }, () => [403, 'FORBIDDEN']),
  )
  const won = answers.findIndex(({ status }) => status === 200)
  for (const [index, next] of nexts.entries())
    expect((await login(user, next)).status).toBe(index === won ? 200 : 401)
})

test('a login that compared the old password while it was changed gets no session', async () => {
  const user = await newSignedIn(api)
  const answer = await whileBlocked(
    database.pool,
    (changing) =>
      changing.query(`UPDATE users SET password_hash = password_hash || 'x' WHERE id = $1`, [user.id]),
    () => login(user, user.password).then(({ status, body }) => ({ status, body: body as unknown })),
  )
  expect(answer).toEqual({ status: 401, body: { message: 'Wrong email or password' } })
})

test('a login that was before a change, and commits beside it, has its session ended', async () => {
  const user = await newSignedIn(api)
  const answer = await whileBlocked(
    database.pool,
    async (loggingIn) => {
      await loggingIn.query('SELECT FROM users WHERE id = $1 FOR SHARE', [user.id])
      await loggingIn.query(
        `INSERT INTO refresh_tokens (hash, user_id, expires_at) VALUES (sha256('late'), $1, now() + interval '1 day')`,
        [user.id],
      )
    },
    () => change(user).then(({ status }) => status),
  )
  expect(answer).toBe(200)
  await api.post('/api/v1/token/refresh').send({ refresh_token: 'late' }).expect(401)
  expect(await user.statusesAt(api)).toEqual(SIGNED_IN)
})

test.each([
  ['a short new password', { new_password: 'seven..' }],
  ['a long new password', { new_password: 'x'.repeat(257) }],
  ['a NUL in the new password', { new_password: 'long\u0000enough' }],
  ['no new password', { new_password: undefined }],
  ['no current password', { current_password: undefined }],
  ['a current password that is too long to hash', { current_password: 'x'.repeat(1_025) }],
  ['a current password that is a number', { current_password: 5 }],
])('%s is 400', async (_, body) => {
  expect(outcomeOf(await change(await newSignedIn(api), body))).toEqual([400, 'INVALID_REQUEST'])
})

test('guesses at the current password count as guesses at the login, at every route that takes it', async () => {
  const limited = await testFacilitator({ variables: { RATE_LIMIT_LOGINS_PER_MINUTE: '6' } })
  const user = await newSignedIn(limited.api)
  const guesses = []
  for (let n = 0; n < 4; n++) {
    const wrong = { current_password: `guess ${n}`, new_password: NEXT }
    guesses.push(
      await limited.api.post('/api/v1/password').set(user.authorization).send(wrong),
      await limited.api
        .delete('/api/v1/users/me')
        .set(user.authorization)
        .send({ password: `guess ${n}` }),
    )
  }
  const outcomes = guesses.map(outcomeOf)
  expect(outcomes[0]).toEqual([403, 'FORBIDDEN'])
  expect(outcomes[1]).toEqual([403, 'FORBIDDEN'])
  expect(outcomes.slice(-2)).toEqual([
    [429, 'RATE_LIMITED'],
    [429, 'RATE_LIMITED'],
  ])
  expect(outcomeOf(await limited.api.post('/api/v1/login').send(user))).toEqual([429, 'RATE_LIMITED'])
})
