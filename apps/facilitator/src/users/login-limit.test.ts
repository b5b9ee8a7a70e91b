import { closeAll } from '@tollgate/testing'
import { newUser, testFacilitator } from '../testing/facilitator'

afterAll(closeAll)

const PER_MINUTE = 5

async function limited() {
  const { api } = await testFacilitator({
    variables: { RATE_LIMIT_LOGINS_PER_MINUTE: String(PER_MINUTE), TRUSTED_PROXIES: '1' },
  })
  const login = async (email: string, password: string, from: string) => {
    const answer = await api.post('/api/v1/login').set('X-Forwarded-For', from).send({ email, password })
    const headers = answer.headers as Record<string, string>
    return { status: answer.status, retryAfter: headers['retry-after'], body: answer.body as object }
  }
  let last = 0
  const guess = (email: string) => login(email, 'a wrong password', `203.0.113.${++last}`)
  return { login, guess, user: await newUser(api) }
}

test.each<[string, (known: string) => string]>([
  ['known', (known) => known],
  ['known, in upper case', (known) => known.toUpperCase()],
  ['unknown', () => 'unknown@example.com'],
  ['invalid', () => "' or 1=1 --"],
])('guesses at one account from many addresses are limited: an email that is %s', async (_, of) => {
  const { guess, user } = await limited()
  const email = of(user.email)
  // The user logged in once, from another address.
  const before = email.toLowerCase() === user.email ? 1 : 0
  const answers = []
  for (let n = 0; n < PER_MINUTE + 2; n++) answers.push(await guess(email))
  const statuses = answers.map(({ status }) => status)
  expect(statuses).toEqual(statuses.map((_status, n) => (n < PER_MINUTE - before ? 401 : 429)))
  const refused = answers.at(-1)
  expect(refused?.body).toMatchObject({ code: 'RATE_LIMITED' })
  expect(Number(refused?.retryAfter)).toBeLessThanOrEqual(60)
})

test('guesses of an attacker do not lock out the owner at a known address', async () => {
  const { login, guess, user } = await limited()
  const { email, password } = user
  const home = '198.51.100.7'
  expect((await login(email, password, home)).status).toBe(200)
  for (let n = 0; n < PER_MINUTE + 2; n++) await guess(email)
  expect((await guess(email)).status).toBe(429)
  expect((await login(email, password, home)).status).toBe(200)
  // That address has its own limit, not no limit.
  const answers = []
  for (let n = 0; n < PER_MINUTE; n++) answers.push((await login(email, 'a wrong password', home)).status)
  expect(answers).toEqual([401, 401, 401, 401, 429])
})

test('guesses at one account do not limit others', async () => {
  const { login, guess, user } = await limited()
  for (let n = 0; n < PER_MINUTE + 2; n++) await guess('unknown@example.com')
  expect((await login(user.email, user.password, '198.51.100.8')).status).toBe(200)
})
