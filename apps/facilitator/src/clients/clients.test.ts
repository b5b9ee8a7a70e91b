import { closeAll } from '@tollgate/testing'
import { sha256 } from '../digest'
import { newPayer, sharedChain } from '../testing/chain'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let api: TestFacilitator['api']
let aheadMs = 0

beforeAll(async () => {
  facilitator = await testFacilitator({ now: () => new Date(Date.now() + aheadMs) })
  api = facilitator.api
})
beforeEach(() => (aheadMs = 0))
afterAll(closeAll)

type Key = {
  clientId: string
  token: string
  title: string
  scope: string
  createdAt: string
  expiresAt: string | null
}
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const headersOf = ({ clientId, token }: Key) => ({ 'X-Client-ID': clientId, 'X-Client-Token': token })
const supported = (headers: object, of = api) => of.get('/api/v1/supported').set({ ...headers })

async function create(accessToken: string, body: object = {}): Promise<Key> {
  const answer = await api
    .post('/api/v1/clients')
    .set(bearer(accessToken))
    .send({ title: 'Shop', ...body })
    .expect(200)
  return (answer.body as { data: { client: Key } }).data.client
}
async function login(user: { email: string; password: string }) {
  const answer = await api
    .post('/api/v1/login')
    .send({ email: user.email, password: user.password })
    .expect(200)
  return answer.body as { data: { access_token: string; refresh_token: string } }
}
async function list(accessToken: string, query = ''): Promise<Partial<Key>[]> {
  const answer = await api.get(`/api/v1/clients${query}`).set(bearer(accessToken)).expect(200)
  return (answer.body as { data: Key[] }).data
}

describe('a client key', () => {
  test('is rejected on every replica as soon as it is deleted', async () => {
    const { accessToken } = await newUser(api)
    const key = await create(accessToken)
    const replica = await testFacilitator(facilitator.settings)
    await supported(headersOf(key), replica.api).expect(200)

    const path = `/api/v1/clients/${key.clientId}`
    const answer = await api.delete(path).set(bearer(accessToken)).expect(200)
    expect(answer.body).toEqual({ data: { deleted: key.clientId } })
    for (const one of [api, replica.api]) await supported(headersOf(key), one).expect(401)
    expect(await list(accessToken)).toEqual([])
    await api.delete(path).set(bearer(accessToken)).expect(404)
  })

  test('authenticates only with its own token when checked in one batch with others', async () => {
    const { accessToken } = await newUser(api)
    const [key, other] = [await create(accessToken), await create(accessToken)]
    const requests = Array.from({ length: 10 }, () => [
      { headers: headersOf(key), status: 200 },
      { headers: headersOf({ ...key, token: other.token }), status: 401 },
      { headers: headersOf(other), status: 200 },
      { headers: headersOf({ ...other, clientId: 'client_unknown' }), status: 401 },
    ]).flat()
    const answers = await Promise.all(requests.map(({ headers }) => supported(headers)))
    expect(answers.map(({ status }) => status)).toEqual(requests.map(({ status }) => status))
  })

  test('allows only the operations of its scope', async () => {
    const { accessToken } = await newUser(api)
    const body = await paymentRequest(await newPayer(rpcUrl))
    const statuses = async (scope?: string) => {
      const headers = headersOf(await create(accessToken, scope === undefined ? {} : { scope }))
      return [
        (await supported(headers)).status,
        (await api.post('/api/v1/verify').set(headers).send(body)).status,
        (await api.post('/api/v1/settle').set(headers).send(body)).status,
      ]
    }
    expect(await statuses()).toEqual([200, 200, 200])
    expect(await statuses('supported')).toEqual([200, 403, 403])
    expect(await statuses(' verify , supported')).toEqual([200, 200, 403])
    expect(await statuses('settle')).toEqual([403, 403, 200])
    const headers = headersOf(await create(accessToken, { scope: 'settle' }))
    expect((await supported(headers)).body).toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('the live keys of one user', () => {
  const MAX = 1_000
  const tryToCreate = (accessToken: string) =>
    api.post('/api/v1/clients').set(bearer(accessToken)).send({ title: 'One more' })

  const createdBefore = (email: string, count: number, expiresIn: string | null = null, isDeleted = false) =>
    facilitator.database.pool.query(
      `INSERT INTO clients (client_id, user_id, token_hash, title, expires_at, deleted_at)
       SELECT 'client_' || gen_random_uuid(), id, sha256('x'), 'Before', now() + $3::INTERVAL, CASE WHEN $4 THEN now() END
       FROM users, generate_series(1, $2) WHERE email = $1`,
      [email, count, expiresIn, isDeleted],
    )

  test(`are at most ${MAX}, also under concurrent requests`, async () => {
    const [user, other] = [await newUser(api), await newUser(api)]
    await createdBefore(user.email, MAX - 6)
    await createdBefore(user.email, 3, '1 hour')
    const answers = await Promise.all(Array.from({ length: 20 }, () => tryToCreate(user.accessToken)))
    expect(answers.map(outcomeOf).filter(([status]) => status === 200)).toHaveLength(3)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(outcomeOf(answer)).toEqual([409, 'CONFLICT'])
      expect((answer.body as { message: string }).message).toMatch(/1000 live client keys.*delete/)
    }
    expect(await facilitator.database.prisma.client.count({ where: { user: { email: user.email } } })).toBe(
      MAX,
    )
    await tryToCreate(other.accessToken).expect(200)

    const [{ clientId = '' } = {}] = await list(user.accessToken)
    await api.delete(`/api/v1/clients/${clientId}`).set(bearer(user.accessToken)).expect(200)
    await tryToCreate(user.accessToken).expect(200)
    await tryToCreate(user.accessToken).expect(409)
    aheadMs = 3_601_000
    const { access_token: accessToken } = (await login(user)).data
    for (let i = 0; i < 3; i++) await tryToCreate(accessToken).expect(200)
    await tryToCreate(accessToken).expect(409)
  })

  test('do not include expired or deleted ones', async () => {
    const { email, accessToken } = await newUser(api)
    await createdBefore(email, MAX, '-1 second')
    await createdBefore(email, MAX, null, true)
    await tryToCreate(accessToken).expect(200)
  })
})

test('no column holds a token or a password in any form', async () => {
  const { email, password, accessToken } = await newUser(api)
  const { token } = await create(accessToken, { scope: 'verify' })
  const refreshToken = (await login({ email, password })).data.refresh_token
  const { pool } = facilitator.database
  const { rows: tables } = await pool.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  )
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['users', 'clients', 'refresh_tokens']),
  )
  let stored = ''
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`SELECT "${name}"::text AS row FROM "${name}"`)
    stored += rows.map(({ row }) => row).join('\n')
  }
  for (const secret of [token, refreshToken, accessToken, password]) {
    const bytes = Buffer.from(secret, 'base64url')
    for (const form of [
      secret,
      Buffer.from(secret).toString('hex'),
      bytes.toString('hex'),
      bytes.toString('base64'),
    ])
      expect(stored).not.toContain(form)
  }
  for (const secret of [token, refreshToken]) expect(stored).toContain(sha256(secret).toString('hex'))
})

test("a user cannot delete another's key, an admin can", async () => {
  const [ada, bob] = [await newUser(api), await newUser(api)]
  const key = await create(ada.accessToken)
  const remove = (accessToken: string) =>
    api.delete(`/api/v1/clients/${key.clientId}`).set(bearer(accessToken))
  await remove(bob.accessToken).expect(404)
  await supported(headersOf(key)).expect(200)

  await facilitator.database.prisma.user.update({ where: { email: bob.email }, data: { isAdmin: true } })
  expect((await list(bob.accessToken)).map(({ clientId }) => clientId)).toContain(key.clientId)
  await remove(bob.accessToken).expect(200)
  await supported(headersOf(key)).expect(401)
})
