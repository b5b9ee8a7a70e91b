import { closeAll } from '@tollgate/testing'
import { createAccountStore } from '../operations/accounts/operator-account-store'
import { newUser, testFacilitator, type Api } from '../testing/facilitator'

afterAll(closeAll)

const JWT_SECRET = 's'.repeat(32)

async function twoReplicas() {
  const one = await testFacilitator({ variables: { JWT_SECRET } })
  const other = await testFacilitator(one.settings)
  return { one, other, accounts: createAccountStore(one.database.pool) }
}

async function userAt(api: Api) {
  const { email, password, accessToken } = await newUser(api)
  const login = await api.post('/api/v1/login').send({ email, password }).expect(200)
  const { data } = login.body as { data: { refresh_token: string } }
  const made = await api
    .post('/api/v1/clients')
    .set('Authorization', `Bearer ${accessToken}`)
    .send({ title: 'Shop' })
    .expect(200)
  const { client } = (made.body as { data: { client: { clientId: string; token: string } } }).data
  const key = { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
  return {
    email,
    password,
    answersOf: async (at: Api) => ({
      login: (await at.post('/api/v1/login').send({ email, password })).status,
      refresh: (await at.post('/api/v1/token/refresh').send({ refresh_token: data.refresh_token })).status,
      accessToken: (await at.get('/api/v1/clients').set('Authorization', `Bearer ${accessToken}`)).status,
      clientKey: (await at.get('/api/v1/supported').set(key)).status,
    }),
  }
}

const ALL_GOOD = { login: 200, refresh: 200, accessToken: 200, clientKey: 200 }

test('all credentials of a disabled user are invalid at once on every replica, and no other user is affected', async () => {
  const { one, other, accounts } = await twoReplicas()
  const [user, neighbour] = [await userAt(one.api), await userAt(one.api)]
  expect(await user.answersOf(other.api)).toEqual(ALL_GOOD)

  expect(await accounts.disable({ email: user.email })).toBe(user.email)
  for (const { api } of [other, one])
    expect(await user.answersOf(api)).toEqual({ login: 401, refresh: 401, accessToken: 401, clientKey: 401 })
  expect(await neighbour.answersOf(other.api)).toEqual(ALL_GOOD)
  const wrong = { email: user.email, password: 'a wrong password' }
  const answers = [
    await other.api.post('/api/v1/login').send({ email: user.email, password: user.password }),
    await other.api.post('/api/v1/login').send(wrong),
  ]
  expect(answers[0]?.text).toBe(answers[1]?.text)

  expect(await accounts.enable({ email: user.email })).toBe(user.email)
  expect(await user.answersOf(other.api)).toEqual({ ...ALL_GOOD, refresh: 401, accessToken: 401 })
})

test('sessions that an operator ended are invalid at once on every replica; the user logs in again', async () => {
  const { one, other, accounts } = await twoReplicas()
  const [user, neighbour] = [await userAt(one.api), await userAt(one.api)]
  await accounts.endSessions({ email: user.email })
  for (const { api } of [other, one])
    expect(await user.answersOf(api)).toEqual({ ...ALL_GOOD, refresh: 401, accessToken: 401 })
  expect(await neighbour.answersOf(other.api)).toEqual(ALL_GOOD)
})
