import { closeAll } from '@tollgate/testing'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'

const HOUR_MS = 3_600_000
const UNAUTHORIZED = [401, 'UNAUTHORIZED']
const LET_IN = [200, undefined]

const startedAt = Date.now()
let elapsedMs = 0
let api: TestFacilitator['api']
beforeAll(async () => {
  const now = () => new Date(startedAt + elapsedMs)
  ;({ api } = await testFacilitator({ now }))
})
beforeEach(() => (elapsedMs = 0))
afterAll(closeAll)

describe('3. Client key', () => {
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  const used = async ({ clientId, token }: { clientId: string; token: string }) =>
    outcomeOf(await api.get('/api/v1/supported').set({ 'X-Client-ID': clientId, 'X-Client-Token': token }))

  async function withUser() {
    const { accessToken } = await newUser(api)
    const list = async () => {
      const answer = await api.get('/api/v1/clients').set(bearer(accessToken)).expect(200)
      return (answer.body as { data: Record<string, unknown>[] }).data
    }
    const create = async (body: object = {}) => {
      const request = api
        .post('/api/v1/clients')
        .set(bearer(accessToken))
        .send({ title: 'Shop', ...body })
      return ((await request.expect(200)).body as { data: { client: { clientId: string; token: string } } })
        .data.client
    }
    const remove = (clientId: string) => api.delete(`/api/v1/clients/${clientId}`).set(bearer(accessToken))
    return { accessToken, list, create, remove }
  }

  test('(none) -> active | POST /clients, valid user token | token shown once', async () => {
    const { create, list } = await withUser()
    const key = await create()
    expect(await used(key)).toEqual(LET_IN)
    expect(await list()).toEqual([expect.objectContaining({ clientId: key.clientId })])
    expect(JSON.stringify(await list())).not.toContain(key.token)
  })

  test('(none) -> (none) | POST /clients, no valid user token | no key', async () => {
    const { accessToken, list } = await withUser()
    for (const headers of [{}, bearer(`${accessToken}x`)])
      expect(outcomeOf(await api.post('/api/v1/clients').set(headers).send({ title: 'Shop' }))).toEqual(
        UNAUTHORIZED,
      )
    expect(await list()).toEqual([])
  })

  test('active -> revoked | DELETE /clients/:id, key exists | response names the deleted clientId', async () => {
    const { create, list, remove } = await withUser()
    const [key, other] = [await create(), await create()]
    expect((await remove(key.clientId).expect(200)).body).toEqual({ data: { deleted: key.clientId } })
    expect(await used(key)).toEqual(UNAUTHORIZED)
    expect(await used(other)).toEqual(LET_IN)
    expect(await list()).toEqual([expect.objectContaining({ clientId: other.clientId })])
  })

  test('revoked -> revoked | DELETE /clients/:id again | 404, and nothing wakes the key', async () => {
    const { create, remove } = await withUser()
    const key = await create({ ttl_hours: 1 })
    await remove(key.clientId).expect(200)
    expect(outcomeOf(await remove(key.clientId))).toEqual([404, 'NOT_FOUND'])
    for (const hours of [0.5, 2]) {
      elapsedMs = hours * HOUR_MS
      expect(await used(key)).toEqual(UNAUTHORIZED)
    }
  })

  test.each([0.25, 1, 87_600])('active -> expired | ttl_hours %d elapsed', async (ttl_hours) => {
    const { create } = await withUser()
    const key = await create({ ttl_hours })
    elapsedMs = ttl_hours * HOUR_MS - 1
    expect(await used(key)).toEqual(LET_IN)
    elapsedMs = ttl_hours * HOUR_MS
    expect(await used(key)).toEqual(UNAUTHORIZED)
  })

  test('active -> active | time passes, no ttl | never expires', async () => {
    const { create } = await withUser()
    const key = await create()
    elapsedMs = 200_000 * HOUR_MS
    expect(await used(key)).toEqual(LET_IN)
  })

  test('expired -> revoked | DELETE /clients/:id | an expired key is listed with its end until it is deleted', async () => {
    const { create, list, remove } = await withUser()
    const { clientId } = await create({ ttl_hours: 0.1 })
    elapsedMs = 0.2 * HOUR_MS
    const expiresAt = new Date(startedAt + 0.1 * HOUR_MS).toISOString()
    expect(await list()).toEqual([expect.objectContaining({ clientId, expiresAt })])
    await remove(clientId).expect(200)
    expect(await list()).toEqual([])
  })
})
