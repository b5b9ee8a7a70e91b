import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, newAccount } from '../testing/accounts'
import { newPayer, sharedChain } from '../testing/chain'
import { testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { paymentRequest, type PaymentRequest } from '../testing/payment'

let replicas: [TestFacilitator, TestFacilitator]
let body: PaymentRequest
beforeAll(async () => {
  const first = await testFacilitator({ variables: { ADMIN_TOKEN } })
  replicas = [first, await testFacilitator({ ...first.settings, ephemeral: first.ephemeral })]
  body = await paymentRequest(await newPayer(sharedChain(), 0n))
})
afterAll(closeAll)

const api = () => replicas[0].api
const ask = (n: number, path: string, key: ClientHeaders) =>
  replicas[n % 2]!.api.post(`/api/v1/${path}`).set(key).send(body)

describe('a client key with a cap of payments a minute', () => {
  test('settles that many on both replicas together, then gets 429; other keys and /verify are served', async () => {
    const account = await newAccount(api())
    const [capped, other] = [await account.newKey({ max_payments_per_minute: 5 }), await account.newKey()]
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(n, 'settle', capped)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(7)
    expect(refused[0]!.body).toMatchObject({ code: 'RATE_LIMITED' })
    expect(refused[0]!.headers['retry-after']).toMatch(/^[1-9][0-9]?$/)

    expect((await ask(0, 'verify', capped)).status).toBe(200)
    expect((await ask(1, 'settle', other)).status).toBe(200)
    const secondVersion = await replicas[1].api.post('/api/v2/settle').set(capped).send({})
    expect(secondVersion.status).toBe(429)
  })
})

test('GET /clients shows the caps to their user, and to no other', async () => {
  const [account, other] = [await newAccount(api()), await newAccount(api())]
  const fees = '123456789012345678901234567'
  const key = await account.newKey({ max_fees_per_day: fees, max_payments_per_minute: 7 })
  await account.newKey()
  const list = async ({ authorization }: typeof account) =>
    ((await api().get('/api/v1/clients').set(authorization).expect(200)).body as { data: object[] }).data
  expect(await list(account)).toEqual([
    expect.not.objectContaining({ maxFeesPerDay: expect.anything() as string }),
    expect.objectContaining({
      clientId: key['X-Client-ID'],
      maxFeesPerDay: fees,
      maxPaymentsPerMinute: 7,
    }),
  ])
  expect(await list(other)).toEqual([])
})

test.each([
  { max_fees_per_day: 1 },
  { max_fees_per_day: '-1' },
  { max_fees_per_day: '1e3' },
  { max_fees_per_day: '9'.repeat(31) },
  { max_payments_per_minute: 0 },
  { max_payments_per_minute: 1.5 },
  { max_payments_per_minute: '5' },
])('POST /clients refuses %j', async (caps) => {
  const { authorization } = await newAccount(api())
  await api()
    .post('/api/v1/clients')
    .set(authorization)
    .send({ title: 'Shop', ...caps })
    .expect(400)
})
