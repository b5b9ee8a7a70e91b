import { type PaymentRequired, type SessionTokens } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { decode } from 'jsonwebtoken'
import { insertPayment } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { createCall } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ inProcess: true })
  gateway.catalog.plans.push(planOf({ id: 2, max_timeout_seconds: 45 }))
  await gateway.reapply()
  gateway.clock.stop()
})
afterAll(closeAll)

const login = async (body: object) => outcomeOf(await gateway.api.post('/auth/login').send(body))
const refresh = (refresh_token: string) => gateway.api.post('/auth/refresh').send({ refresh_token })
const after = (seconds: number) => gateway.clock.advance(seconds)

async function funded(credits = 100) {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, credits)
  return { ...(await wallet.signIn()), wallet }
}

describe('8. Nonce validity | 300 seconds', () => {
  test.each([
    [299, [200, undefined]],
    [301, [401, 'EXPIRED_NONCE']],
  ])('issued %d seconds ago', async (age, outcome) => {
    const wallet = gateway.wallet()
    const nonce = await wallet.nonce()
    after(age)
    expect(await login(await wallet.login({}, { nonce }))).toEqual(outcome)
  })

  test.each([
    [299, [200, undefined]],
    [301, [401, 'EXPIRED_NONCE']],
  ])('in a message issued %d seconds ago', async (age, outcome) => {
    const wallet = gateway.wallet()
    const issuedAt = new Date(gateway.clock.now().getTime() - age * 1000).toISOString()
    expect(await login(await wallet.login({}, { issuedAt }))).toEqual(outcome)
  })

  test('is what `expires_in` says', async () => {
    expect((await gateway.api.get('/auth/nonce')).body).toMatchObject({ expires_in: 300 })
  })
})

describe('8. JWT validity | 1 hour', () => {
  test.each([
    [3_599, [200, undefined]],
    [3_601, [401, 'EXPIRED_TOKEN']],
  ])('issued at login %d seconds ago', async (age, outcome) => {
    const { call, expires_at } = await funded()
    expect(new Date(expires_at).getTime() - gateway.clock.now().getTime()).toBe(3_600_000)
    after(age)
    expect(outcomeOf(await call())).toEqual(outcome)
  })

  test.each([
    [3_599, [200, undefined]],
    [3_601, [401, 'EXPIRED_TOKEN']],
  ])('issued by a refresh %d seconds ago, and valid for one hour from then', async (age, outcome) => {
    const { refresh_token } = await funded()
    after(3_000)
    const next = (await refresh(refresh_token).expect(200)).body as SessionTokens
    const { iat = 0, exp = 0 } = decode(next.token, { json: true }) ?? {}
    expect(exp - iat).toBe(3_600)
    after(age)
    expect(outcomeOf(await createCall(gateway.api, next.token)())).toEqual(outcome)
  })
})

describe('8. Refresh token use | once', () => {
  test('a second use is refused', async () => {
    const { refresh_token } = await funded()
    expect(outcomeOf(await refresh(refresh_token))).toEqual([200, undefined])
    expect(outcomeOf(await refresh(refresh_token))).toEqual([401, 'INVALID_TOKEN'])
  })

  test('one of concurrent uses wins', async () => {
    const { refresh_token } = await funded()
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(refresh_token)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 401)])
  })

  test.each([
    ['a second short of 30 days', 30 * 86_400 - 1, [200, undefined]],
    ['30 days', 30 * 86_400, [401, 'EXPIRED_TOKEN']],
  ])('while it is valid: after %s', async (_, age, outcome) => {
    const { refresh_token } = await funded()
    after(age)
    expect(outcomeOf(await refresh(refresh_token))).toEqual(outcome)
  })
})

describe('8. Payment timeout in requirements | `maxTimeoutSeconds` (integer seconds)', () => {
  test.each([
    [1, 60],
    [2, 45],
  ])('of plan %d | %d', async (pricing_plan_id, seconds) => {
    const body: unknown = (await (await gateway.wallet().signIn({ pricing_plan_id })).call().expect(402)).body
    expect((body as PaymentRequired).paymentRequirements.maxTimeoutSeconds).toBe(seconds)
  })
})

type Page = { data: unknown[]; pagination: object }

describe.each([
  ['History', '/history', 20],
  ['Payments', '/payments', 30],
])('8. %s page size default | offset default 0', (_, path, size) => {
  async function withRecords(count: number) {
    const { wallet, call } = await funded(count)
    if (path === '/history') for (let calls = 0; calls < count; calls++) await call().expect(200)
    else
      for (let payments = 1; payments < count; payments++)
        await insertPayment(gateway.pool, { wallet: wallet.address, credits: 1 })
    return (query: object = {}) => gateway.api.get(`${path}/${wallet.address}`).query(query)
  }

  test.each([
    [size - 1, size - 1],
    [size, size],
    [size + 1, size],
  ])(`${size} | of %d records shows %d`, async (total, shown) => {
    const { data, pagination } = (await (await withRecords(total))().expect(200)).body as Page
    expect([data.length, pagination]).toEqual([shown, { limit: size, offset: 0, total }])
  })

  test.each([
    [1, 200],
    [100, 200],
    [101, 400],
    [0, 400],
    [-1, 400],
    [1e9, 400],
  ])('limit %d | %d', async (limit, status) => {
    const { address } = gateway.wallet()
    expect((await gateway.api.get(`${path}/${address}`).query({ limit })).status).toBe(status)
  })
})
