import { closeAll } from '@tollgate/testing'
import { newClient, newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'

let facilitator: TestFacilitator
beforeAll(async () => {
  facilitator = await testFacilitator()
})
afterAll(closeAll)

const INVALID = [400, 'INVALID_REQUEST']
const users = async () => facilitator.database.prisma.user.count()

test.each([
  ['a NUL', 'shop\u0000@example.com'],
  ['a line break', 'shop@example.com\r\nBcc: all@example.com'],
  ['a letter of another alphabet', 'sh\u043ep@example.com'],
  ['a domain of another alphabet', 'shop@ex\u0430mple.com'],
  ['wide letters', '\uff53\uff48\uff4f\uff50@example.com'],
  ['a wide sign', 'shop\uff20example.com'],
  ['a letter and its accent apart', 'e\u0301@example.com'],
  ['nothing that is seen', 'shop\u200b@example.com'],
  ['a text that turns around', 'shop\u202e@example.com'],
  ['half a character', 'shop\ud800@example.com'],
  ['a space within', 'sh op@example.com'],
  ['more than any email has', `${'x'.repeat(400)}@example.com`],
])('an email with %s is 400, and makes no user', async (_, email) => {
  const before = await users()
  const body = JSON.stringify({ email, password: 'long enough for anybody' })
  const answer = await facilitator.api
    .post('/api/v1/signup')
    .set('Content-Type', 'application/json')
    .send(body)
  expect(outcomeOf(answer)).toEqual(INVALID)
  const login = await facilitator.api.post('/api/v1/login').set('Content-Type', 'application/json').send(body)
  expect([400, 401]).toContain(login.status)
  expect(await users()).toBe(before)
})

test('an email is unique in any letter case', async () => {
  const { email, password } = await newUser(facilitator.api)
  const before = await users()
  const again = await facilitator.api.post('/api/v1/signup').send({ email: email.toUpperCase(), password })
  expect(again.status).toBeGreaterThanOrEqual(400)
  expect(again.status).toBeLessThan(500)
  expect(await users()).toBe(before)
  await facilitator.api.post('/api/v1/login').send({ email: email.toUpperCase(), password }).expect(200)
})

test.each([
  '%00',
  'a%00b',
  '%ed%a0%80',
  '%0d%0aSet-Cookie:a=b',
  '\uff11',
  '%e2%80%ae1',
  '-1',
  '1e3',
  '9'.repeat(40),
])('the id %j is invalid: 4xx, and nothing changes', async (id) => {
  const { accessToken } = await newUser(facilitator.api)
  const headers = { Authorization: `Bearer ${accessToken}` }
  const path = /^[\x21-\x7e]+$/.test(id) ? id : encodeURIComponent(id)
  const answers = [
    await facilitator.api.delete(`/api/v1/clients/${path}`).set(headers),
    await facilitator.api.put(`/api/v1/resources/${path}`).set(headers).send({}),
    await facilitator.api.get(`/api/v1/networks/${path}`),
  ]
  for (const { status, headers: sent } of answers) {
    expect([400, 404]).toContain(status)
    expect(sent['set-cookie']).toBeUndefined()
  }
})

test.each([
  ['a NUL', 'client_\u0000'],
  ['wide letters', 'client_\uff41'],
  ['more than any id has', 'x'.repeat(5_000)],
])('a client id with %s is 401', async (_, id) => {
  const client = await newClient(facilitator.api)
  const headers = { ...client, 'X-Client-ID': encodeURIComponent(id) }
  expect(outcomeOf(await facilitator.api.get('/api/v1/supported').set(headers))).toEqual([
    401,
    'UNAUTHORIZED',
  ])
})
