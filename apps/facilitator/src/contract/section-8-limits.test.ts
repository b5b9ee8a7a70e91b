import { closeAll } from '@tollgate/testing'
import { newPayer, sharedChain } from '../testing/chain'
import {
  newClient,
  newUser,
  testFacilitator,
  type ClientHeaders,
  type TestFacilitator,
} from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { paymentRequest, type PaymentRequest } from '../testing/payment'
import { bearer, newResource } from '../testing/resource'

const rpcUrl = sharedChain()
const HOUR_MS = 3_600_000
const TEN_YEARS_HOURS = 87_600
const MALFORMED = [400, 'INVALID_REQUEST']

const startedAt = Date.now()
let elapsedMs = 0
let api: TestFacilitator['api']
let accessToken: string
beforeAll(async () => {
  const now = () => new Date(startedAt + elapsedMs)
  ;({ api } = await testFacilitator({ now }))
  accessToken = (await newUser(api)).accessToken
})
beforeEach(() => (elapsedMs = 0))
afterAll(closeAll)

const newKey = (accessToken: string, body: object = {}) =>
  api
    .post('/api/v1/clients')
    .set(bearer(accessToken))
    .send({ title: 'Shop', ...body })
const newKeys = async (accessToken: string, count: number) => {
  for (let made = 0; made < count; made++) await newKey(accessToken).expect(200)
}
const newResources = async (accessToken: string, count: number) => {
  for (let made = 0; made < count; made++) await newResource(api, accessToken)
}
const keysIn = (body: unknown) =>
  (body as { data: { clientId: string }[] }).data.map(({ clientId }) => clientId)
const resourcesIn = (body: unknown) =>
  (body as { data: { resources: { id: number }[] } }).data.resources.map(({ id }) => id)

describe.each([
  ['/clients', 20, 100, newKeys, keysIn],
  ['/users/resources', 100, 200, newResources, resourcesIn],
] as const)('8. %s page size default | offset default 0', (path, size, max, make, recordsIn) => {
  const list = (accessToken: string, query: object = {}) =>
    api.get(`/api/v1${path}`).set(bearer(accessToken)).query(query)

  test(`${size} | of ${size} records ${size}, of ${size + 1} records the first ${size}`, async () => {
    const { accessToken } = await newUser(api)
    const shown = async (query: object = {}) => recordsIn((await list(accessToken, query).expect(200)).body)
    await make(accessToken, size)
    expect(await shown()).toHaveLength(size)
    await make(accessToken, 1)
    const all = await shown({ limit: size + 1 })
    expect(new Set<unknown>(all).size).toBe(size + 1)
    expect(await shown()).toEqual(all.slice(0, size))
    expect(await shown({ offset: 0 })).toEqual(all.slice(0, size))
    expect(await shown({ offset: size })).toEqual(all.slice(size))
    expect(await shown({ offset: 3, limit: 5 })).toEqual(all.slice(3, 8))
    expect(await shown({ offset: size + 1 })).toEqual([])
  })

  test.each([
    [1, 200],
    [max, 200],
    [max + 1, 400],
    [0, 400],
    [-1, 400],
    [1e9, 400],
  ])('limit %d | %d', async (limit, status) => {
    expect((await list(accessToken, { limit })).status).toBe(status)
  })
})

describe('8. ttl_hours | number; omitted means no expiry', () => {
  test.each([1 / 3_600, 0.001, 0.5, 1, 24.25, TEN_YEARS_HOURS])(
    '%d | expires after so many hours',
    async (ttl_hours) => {
      const answer = await newKey(accessToken, { ttl_hours }).expect(200)
      const { client } = (answer.body as { data: { client: { createdAt: string; expiresAt: string } } }).data
      expect(client.createdAt).toBe(new Date(startedAt).toISOString())
      expect(Date.parse(client.expiresAt) - startedAt).toBe(ttl_hours * HOUR_MS)
    },
  )

  test.each([0, -1, TEN_YEARS_HOURS + 1, '1', null, true])('%j | 400', async (ttl_hours) => {
    expect(outcomeOf(await newKey(accessToken, { ttl_hours }))).toEqual(MALFORMED)
  })

  test('omitted | `expiresAt` is null, and the key works for ever', async () => {
    const answer = await newKey(accessToken).expect(200)
    const { client } = (answer.body as { data: { client: Record<string, string | null> } }).data
    expect(client.expiresAt).toBeNull()
    elapsedMs = 10 * TEN_YEARS_HOURS * HOUR_MS
    const headers = { 'X-Client-ID': client.clientId ?? '', 'X-Client-Token': client.token ?? '' }
    await api.get('/api/v1/supported').set(headers).expect(200)
  })
})

describe.each(['/verify', '/settle'])('8. POST %s', (path) => {
  let client: ClientHeaders
  let good: PaymentRequest
  beforeAll(async () => (client = await newClient(api)))
  beforeEach(async () => (good = await paymentRequest(await newPayer(rpcUrl))))

  const ask = (body: object) => api.post(`/api/v1${path}`).set(client).send(body)
  const withVersion = (x402Version: unknown) => ({
    ...good,
    paymentPayload: { ...good.paymentPayload, x402Version },
  })
  const withTimeout = (maxTimeoutSeconds: unknown) => ({
    ...good,
    paymentRequirements: { ...good.paymentRequirements, maxTimeoutSeconds },
  })

  test('payment payload `x402Version` | must be 1', async () => {
    for (const version of [0, 2, -1, 1.5, 1e300]) {
      const answer = await ask(withVersion(version))
      expect([version, answer.status, answer.body]).toEqual([
        version,
        200,
        expect.objectContaining(
          path === '/verify'
            ? { isValid: false, invalidReason: 'invalid_x402_version' }
            : { success: false, errorReason: 'invalid_x402_version' },
        ),
      ])
    }
    for (const version of [undefined, null, '1', true, [1], {}])
      expect([version, ...outcomeOf(await ask(withVersion(version)))]).toEqual([version, ...MALFORMED])
    expect((await ask(withVersion(1)).expect(200)).body).toMatchObject(
      path === '/verify' ? { isValid: true } : { success: true },
    )
  })

  test('`maxTimeoutSeconds` | integer seconds in payment requirements', async () => {
    for (const seconds of [undefined, null, '60', 1.5, 0, -1, 1e300, true, [60]])
      expect([seconds, ...outcomeOf(await ask(withTimeout(seconds)))]).toEqual([seconds, ...MALFORMED])
    expect((await ask(withTimeout(60)).expect(200)).body).toMatchObject(
      path === '/verify' ? { isValid: true } : { success: true },
    )
  })
})
