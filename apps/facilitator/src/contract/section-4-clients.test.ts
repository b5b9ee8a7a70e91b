import { closeAll } from '@tollgate/testing'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { expectRefused, nonStrings, type Body } from '../testing/fields'
import { outcomeOf } from '../testing/outcome'
import { bearer } from '../testing/resource'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const MALFORMED = [400, 'INVALID_REQUEST']

let api: TestFacilitator['api']
beforeAll(async () => {
  ;({ api } = await testFacilitator({ variables: { ADMIN_TOKEN } }))
})
afterAll(closeAll)

const time = expect.stringMatching(TIME) as string

describe('4. /clients', () => {
  let accessToken: string
  beforeEach(async () => {
    accessToken = (await newUser(api)).accessToken
  })

  const create = (body: unknown) =>
    api
      .post('/api/v1/clients')
      .set(bearer(accessToken))
      .set('Content-Type', 'application/json')
      .send(typeof body === 'string' ? body : JSON.stringify(body))
  const list = (query: string | object = {}) =>
    api.get('/api/v1/clients').set(bearer(accessToken)).query(query)
  const remove = (id: string, token = accessToken) => api.delete(`/api/v1/clients/${id}`).set(bearer(token))

  type Key = { clientId: string; token: string; scope: string; title: string; expiresAt: string | null }
  const made = async (body: Body = {}) =>
    ((await create({ title: 'Shop', ...body }).expect(200)).body as { data: { client: Key } }).data.client
  const listed = async (query: string | object = {}) =>
    ((await list(query).expect(200)).body as { data: Key[] }).data

  test('POST | response 200 | `data.client` holding a client key including `token`', async () => {
    const answer = await create({ title: 'Shop', scope: 'verify,settle', ttl_hours: 24 })
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        data: {
          client: {
            clientId: expect.stringMatching(/^[\w-]+$/) as string,
            token: expect.stringMatching(/^[\w-]{43}$/) as string,
            title: 'Shop',
            scope: 'verify,settle',
            createdAt: time,
            expiresAt: time,
          },
        },
      },
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  test('POST | title | string | required', async () => {
    const odd = ['', '   ', 'a\u0000b', 'a\r\nb', '\u001b[31m', '\ud800', 'x'.repeat(201), 'x'.repeat(10_000)]
    await expectRefused(create, {}, 'title', [undefined, ...nonStrings, ...odd])
    for (const title of ['Büro „Nord“ 🛒', '日本', "'; drop table clients; --", 'x'.repeat(200)])
      expect((await made({ title })).title).toBe(title)
    expect((await made({ title: '  Shop ' })).title).toBe('Shop')
  })

  test('POST | scope | string | not required | comma-separated allowed operations', async () => {
    const wrong = [
      'refund',
      'verify,refund',
      'verify;settle',
      'verify settle',
      'VERIFY',
      'verify,',
      ',',
      '*',
      'all',
    ]
    const odd = ['verify\u0000', 'ｖerify', '__proto__', 'verify,'.repeat(2_000)]
    await expectRefused(create, { title: 'Shop' }, 'scope', [...nonStrings, ...wrong, ...odd])
    const scopes = {
      '': '',
      ' ': '',
      settle: 'settle',
      'settle,verify': 'verify,settle',
      ' verify , supported ': 'verify,supported',
      'verify,verify, verify': 'verify',
      'supported,settle,verify': 'verify,settle,supported',
    }
    for (const [scope, kept] of Object.entries(scopes)) expect((await made({ scope })).scope).toBe(kept)
    expect((await made()).scope).toBe('')
    expect((await listed()).map(({ scope }) => scope).reverse()).toEqual([...Object.values(scopes), ''])
  })

  test('POST | ttl_hours | number | not required', async () => {
    await expectRefused(create, { title: 'Shop' }, 'ttl_hours', [
      null,
      '1',
      '',
      true,
      [],
      [1],
      {},
      0,
      -1,
      -0.5,
      1e-300,
      0.000277,
      87_600.1,
    ])
    const { message } = (await create({ title: 'Shop', ttl_hours: 1e-300 })).body as { message: string }
    expect(message).toMatch(/ttl_hours: .*at least one second/)
    for (const number of ['1e999', '-1e999', '0e0', '-0', '1e300'])
      expect(outcomeOf(await create(`{"title":"Shop","ttl_hours":${number}}`))).toEqual(MALFORMED)
    expect((await made()).expiresAt).toBeNull()
  })

  test.each([
    '[]',
    '"text"',
    'null',
    '5',
    '',
    '{"title":"a","title":"b"}',
    '{"title":"a","__proto__":{"scope":"verify"}}',
    '{"title":"a","constructor":{}}',
    '{"title":"a"',
    "{title:'a'}",
    `{"title":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
  ])('POST | %.50s is no request: 400', async (body) => {
    expect(outcomeOf(await create(body))).toEqual(MALFORMED)
    expect(await listed()).toEqual([])
  })

  test('GET | response 200 | `data`, array of client keys without `token`', async () => {
    const withoutToken = (key: Key) =>
      Object.fromEntries(Object.entries(key).filter(([name]) => name !== 'token'))
    const first = await made({ scope: 'settle', ttl_hours: 1 })
    expect(await listed()).toEqual([withoutToken(first)])
    const second = await made()
    expect(await listed()).toEqual([withoutToken(second), withoutToken(first)])
  })

  test('GET | offset, limit | anything but whole numbers within bounds: 400', async () => {
    const wrong = [
      '',
      'NaN',
      'abc',
      '-1',
      '1.5',
      '1e9',
      '1e1',
      '0x10',
      '+5',
      ' 5',
      '05',
      '１',
      '9'.repeat(20),
      '%00',
      'null',
    ]
    for (const value of wrong)
      for (const name of ['limit', 'offset'])
        expect([name, value, ...outcomeOf(await list(`${name}=${value}`))]).toEqual([
          name,
          value,
          ...MALFORMED,
        ])
    for (const query of ['limit=0', 'limit=101', 'limit=1&limit=2', 'offset=0&offset=0', 'offset=2147483648'])
      expect([query, ...outcomeOf(await list(query))]).toEqual([query, ...MALFORMED])
  })

  test('GET | admins see all clients, other users only their own', async () => {
    const { clientId } = await made()
    const admin = { email: 'boss@example.com', password: 'a long password', is_admin: true }
    await api.post('/admin/users').set(bearer(ADMIN_TOKEN)).send(admin).expect(200)
    const answer = await api.post('/api/v1/login').send(admin).expect(200)
    const own = accessToken
    accessToken = (answer.body as { data: { access_token: string } }).data.access_token
    const { clientId: theirs } = await made()

    expect((await listed({ limit: 2 })).map((key) => key.clientId)).toEqual([theirs, clientId])
    accessToken = own
    expect((await listed()).map((key) => key.clientId)).toEqual([clientId])
  })

  test('DELETE | path `id` is the clientId | response 200 | `data` with `deleted` (the clientId)', async () => {
    const [{ clientId }, { clientId: other }] = [await made(), await made()]
    const answer = await remove(clientId)
    expect([answer.status, answer.body]).toEqual([200, { data: { deleted: clientId } }])
    expect((await listed()).map((key) => key.clientId)).toEqual([other])
  })

  test('DELETE | a key of another user, a deleted or an unknown one: 404 NOT_FOUND', async () => {
    const { clientId } = await made()
    const otherUser = await newUser(api)
    const unknown = await remove('client_0123456789abcdef01234567')
    expect(outcomeOf(unknown)).toEqual([404, 'NOT_FOUND'])
    expect((await remove(clientId, otherUser.accessToken)).body).toEqual(unknown.body)
    await remove(clientId).expect(200)
    expect((await remove(clientId)).body).toEqual(unknown.body)
  })

  test('DELETE | of many at once, one deletes', async () => {
    const { clientId } = await made()
    const answers = await Promise.all(Array.from({ length: 20 }, () => remove(clientId)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(19)
  })

  test.each([
    '%00',
    '%20',
    'a%0d%0ab',
    '%2e%2e%2f',
    "'%20or%20true",
    encodeURIComponent('ｃlient'),
    'x'.repeat(65),
    '%ff',
  ])('DELETE | %s is no id: 400', async (id) => {
    expect(outcomeOf(await remove(id))).toEqual(MALFORMED)
  })
})
