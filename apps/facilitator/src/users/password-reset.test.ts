import { closeAll } from '@tollgate/testing'
import { Writable } from 'node:stream'
import { createAccountStore, type AccountStore } from '../operations/accounts/operator-account-store'
import { ADMIN_TOKEN, asAdmin } from '../testing/accounts'
import { newUser, testFacilitator, type Api, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { whileBlocked } from '../testing/row-locks'
import { newSignedIn, SIGNED_IN, SIGNED_OUT, signIn } from '../testing/sign-in'

const NEXT = 'the next password'

let log = ''
let api: Api
let other: Api
let database: TestFacilitator['database']
let accounts: AccountStore
beforeAll(async () => {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      log += chunk.toString()
      done()
    },
  })
  const variables = { ADMIN_TOKEN, JWT_SECRET: 's'.repeat(32) }
  const one = await testFacilitator({ variables, log: stream })
  ;({ api, database } = one)
  other = (await testFacilitator(one.settings)).api
  accounts = createAccountStore(database.pool)
})
afterAll(closeAll)

type Issued = { data: { token: string; expiresAt: string } }
const issue = (id: number, at = api) => at.post(`/admin/users/${id}/password-reset`).set(asAdmin)
const tokenFor = async (id: number) => ((await issue(id).expect(200)).body as Issued).data.token
const reset = (token: unknown, password: unknown = NEXT, at = api) =>
  at.post('/api/v1/password/reset').send({ token, password })
const login = ({ email }: { email: string }, password: string) =>
  api.post('/api/v1/login').send({ email, password })
const REFUSED = [403, 'FORBIDDEN']

test('a token sets a new password once, for an hour, and ends all sessions on every replica', async () => {
  const user = await newUser(api)
  const [first, second] = [await signIn(api, user), await signIn(api, user)]
  const stranger = await newSignedIn(api)
  const { data } = (await issue(first.id).expect(200)).body as Issued
  expect(data.token).toMatch(/^[\w-]{43}$/)
  expect(Math.abs(Date.parse(data.expiresAt) - Date.now() - 3_600_000)).toBeLessThan(60_000)
  expect(await first.statusesAt(other)).toEqual(SIGNED_IN)

  await reset(data.token, NEXT, other).expect(200).expect('Cache-Control', 'no-store')
  for (const at of [api, other]) {
    for (const one of [first, second]) expect(await one.statusesAt(at)).toEqual(SIGNED_OUT)
    expect(await stranger.statusesAt(at)).toEqual(SIGNED_IN)
  }
  expect((await login(user, user.password)).status).toBe(401)
  await login(user, NEXT).expect(200)
  expect(outcomeOf(await reset(data.token, 'a third password'))).toEqual(REFUSED)
  await login(user, NEXT).expect(200)
})

test('of many uses at once one wins', async () => {
  const user = await newSignedIn(api)
  const token = await tokenFor(user.id)
  const passwords = Array.from({ length: 8 }, (_, index) => `the next password ${index}`)
  const answers = await Promise.all(
    passwords.map((password, index) => reset(token, password, [api, other][index % 2])),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const won = answers.findIndex(({ status }) => status === 200)
  for (const [index, password] of passwords.entries())
    expect((await login(user, password)).status).toBe(index === won ? 200 : 401)
})

test('a use that waits for another use of the same token changes nothing', async () => {
  const user = await newSignedIn(api)
  const token = await tokenFor(user.id)
  const status = await whileBlocked(
    database.pool,
    async (using) => {
      await using.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [user.id])
      await using.query('DELETE FROM password_resets WHERE user_id = $1', [user.id])
    },
    () => reset(token).then((answer) => answer.status),
  )
  expect(status).toBe(403)
  await login(user, user.password).expect(200)
})

test('a new token ends the one before; of tokens issued at once one is left', async () => {
  const user = await newSignedIn(api)
  const first = await tokenFor(user.id)
  const second = await tokenFor(user.id)
  expect(outcomeOf(await reset(first))).toEqual(REFUSED)
  await reset(second).expect(200)

  const many = await Promise.all(Array.from({ length: 6 }, () => tokenFor(user.id)))
  const answers = []
  for (const token of many) answers.push((await reset(token)).status)
  expect(answers.filter((status) => status === 200)).toHaveLength(1)
})

test('a token is for its user only, and ends with a change of the password, after an hour, and while the user is disabled', async () => {
  const [user, stranger] = [await newSignedIn(api), await newSignedIn(api)]
  const { id, email } = stranger
  await api
    .post('/api/v1/password/reset')
    .send({ token: await tokenFor(user.id), password: NEXT, id, email, user_id: id })
    .expect(200)
  await login(stranger, stranger.password).expect(200)
  await login(user, NEXT).expect(200)

  const old = await tokenFor(stranger.id)
  const body = { current_password: stranger.password, new_password: NEXT }
  await api.post('/api/v1/password').set(stranger.authorization).send(body).expect(200)
  expect(outcomeOf(await reset(old, 'a third password'))).toEqual(REFUSED)

  const late = await tokenFor(user.id)
  await database.pool.query('UPDATE password_resets SET expires_at = now() WHERE user_id = $1', [user.id])
  expect(outcomeOf(await reset(late, 'a third password'))).toEqual(REFUSED)

  const disabled = await tokenFor(user.id)
  await accounts.disable({ id: user.id })
  expect(outcomeOf(await reset(disabled, 'a third password'))).toEqual(REFUSED)
  expect(outcomeOf(await issue(user.id))).toEqual([404, 'NOT_FOUND'])
  expect(await accounts.resetPassword({ id: user.id })).toBeUndefined()
})

test('a user that is disabled between the check of the token and its use keeps its password', async () => {
  const user = await newSignedIn(api)
  const token = await tokenFor(user.id)
  const status = await whileBlocked(
    database.pool,
    (disabling) => disabling.query('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id]),
    () => reset(token).then((answer) => answer.status),
  )
  expect(status).toBe(403)
  await accounts.enable({ id: user.id })
  await login(user, user.password).expect(200)
})

test('only the admin token issues one', async () => {
  const [user, admin] = [await newSignedIn(api), await newSignedIn(api)]
  await database.prisma.user.update({ where: { id: admin.id }, data: { isAdmin: true } })
  for (const path of ['/admin', '/api/v1/admin'])
    for (const headers of [{}, user.authorization, admin.authorization])
      expect(outcomeOf(await api.post(`${path}/users/${user.id}/password-reset`).set(headers))).toEqual([
        401,
        'UNAUTHORIZED',
      ])
  expect(await database.prisma.passwordReset.count({ where: { userId: user.id } })).toBe(0)
  for (const id of [0, -1, 'x', 2 ** 31]) {
    const answer = await api.post(`/admin/users/${id}/password-reset`).set(asAdmin)
    expect([id, ...outcomeOf(answer)]).toEqual([id, 400, 'INVALID_REQUEST'])
  }
  expect(outcomeOf(await issue(999_999))).toEqual([404, 'NOT_FOUND'])
})

test('no token is stored or logged, and unknown ones get one answer', async () => {
  const user = await newSignedIn(api)
  const used = await tokenFor(user.id)
  await reset(used).expect(200)
  const issued = await tokenFor(user.id)
  const { rows } = await database.pool.query<{ row: string }>(
    'SELECT password_resets::text AS row FROM password_resets',
  )
  const stored = rows.map(({ row }) => row).join()
  expect(stored).toContain(String(user.id))
  expect(log).toContain('/password/reset')
  for (const token of [used, issued])
    for (const text of [log, stored]) {
      expect(text).not.toContain(token)
      expect(text).not.toContain(Buffer.from(token).toString('hex'))
    }
  const answers = []
  for (const token of [used, '', '\u0000', '\ud800', "' or true --", issued.slice(1), 'x'.repeat(256)])
    answers.push((await reset(token)).text)
  expect(new Set(answers).size).toBe(1)
})

test.each([
  ['no token', { token: undefined }],
  ['a token that is a number', { token: 5 }],
  ['a long token', { token: 'x'.repeat(257) }],
  ['a short password', { password: 'seven..' }],
  ['no password', { password: undefined }],
])('%s is 400', async (_, wrong) => {
  const body = { token: 'x', password: NEXT, ...wrong }
  expect(outcomeOf(await api.post('/api/v1/password/reset').send(body))).toEqual([400, 'INVALID_REQUEST'])
})

test('a token is of no use once its user was disabled, also after it is enabled again', async () => {
  const user = await newUser(api)
  const { id } = await signIn(api, user)
  const token = await tokenFor(id)
  await api.post(`/admin/users/${id}/disable`).set(asAdmin).expect(200)
  await api.post(`/admin/users/${id}/enable`).set(asAdmin).expect(200)
  expect(outcomeOf(await reset(token))).toEqual(REFUSED)
  await login(user, user.password).expect(200)
})
