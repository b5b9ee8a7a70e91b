import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { ADMIN_TOKEN, assign, newAccount, type Account } from '../testing/accounts'
import { newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { startOddNode } from '../testing/failing-node'
import { testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { inVersion2, paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
const REFUSED = { success: false, errorReason: 'invalid_payment_requirements', transaction: '', payer: '' }
const RESERVED = 'payTo is reserved by another account'

let replicas: [TestFacilitator, TestFacilitator]
let merchant: Account
let keys: { merchant: ClientHeaders; stranger: ClientHeaders }
beforeAll(async () => {
  const first = await testFacilitator({ variables: { ADMIN_TOKEN } })
  replicas = [first, await testFacilitator(first.settings)]
  merchant = await newAccount(first.api)
  const stranger = await newAccount(first.api)
  keys = { merchant: await merchant.newKey(), stranger: await stranger.newKey() }
})
afterAll(closeAll)

async function post<T>(
  { api }: Pick<TestFacilitator, 'api'>,
  path: string,
  key: ClientHeaders,
  body: object,
) {
  return (await api.post(path).set(key).send(body).expect(200)).body as T
}
const settle = (on: Pick<TestFacilitator, 'api'>, key: ClientHeaders, body: object) =>
  post<SettleResult>(on, '/api/v1/settle', key, body)
const claims = () => replicas[0].database.prisma.settlement.count()

async function stolenPayment() {
  const payer = await newPayer(rpcUrl)
  return { payer, body: await paymentRequest(payer) }
}

test('a stranger cannot settle a stolen payment to a reserved recipient, and its owner still can', async () => {
  const { payer, body } = await stolenPayment()
  const { payTo } = body.paymentRequirements
  await assign(replicas[0], merchant, payTo).expect(200)
  const before = await claims()
  const lowerCase = {
    ...body,
    paymentRequirements: { ...body.paymentRequirements, payTo: payTo.toLowerCase() },
  }

  for (const on of replicas)
    for (const [version, request] of [
      ['v1', body],
      ['v1', lowerCase],
      ['v2', inVersion2(body)],
    ] as const) {
      const verified = await post<VerifyResult>(on, `/api/${version}/verify`, keys.stranger, request)
      expect(verified).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_payment_requirements',
        invalidMessage: RESERVED,
      })
      const settled = await post<SettleResult>(on, `/api/${version}/settle`, keys.stranger, request)
      expect(settled).toMatchObject({ ...REFUSED, errorMessage: RESERVED })
    }
  expect(await claims()).toBe(before)

  expect(await post(replicas[1], '/api/v1/verify', keys.merchant, body)).toMatchObject({ isValid: true })
  expect(await settle(replicas[1], keys.merchant, body)).toMatchObject({ success: true })
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  expect(await settle(replicas[0], keys.stranger, body)).toMatchObject({
    errorReason: 'duplicate_settlement',
  })
})

test('a verification that was cached before the reservation does not outlast it', async () => {
  const { body } = await stolenPayment()
  const verify = () => post<VerifyResult>(replicas[1], '/api/v1/verify', keys.stranger, body)
  expect(await verify()).toMatchObject({ isValid: true, cachedResult: false })
  expect(await verify()).toMatchObject({ isValid: true, cachedResult: true })
  await assign(replicas[0], merchant, body.paymentRequirements.payTo).expect(200)
  expect(await verify()).toMatchObject({ isValid: false })
})

test('a payment that was claimed before the reservation goes on, and its outcome is reported', async () => {
  const { body } = await stolenPayment()
  const key = { ...keys.stranger, 'Idempotency-Key': 'order-1' }
  const first = await settle(replicas[0], key, body)
  expect(first).toMatchObject({ success: true })
  await assign(replicas[0], merchant, body.paymentRequirements.payTo).expect(200)
  expect(await settle(replicas[1], key, body)).toEqual(first)
})

test('once a reservation ends, any key settles payments to the address', async () => {
  const { body } = await stolenPayment()
  const { data } = (await assign(replicas[0], merchant, body.paymentRequirements.payTo)).body as {
    data: { id: number }
  }
  expect(await settle(replicas[1], keys.stranger, body)).toMatchObject(REFUSED)
  await merchant.release(data.id).expect(200)
  expect(await settle(replicas[1], keys.stranger, body)).toMatchObject({ success: true })
})

test('a reservation of an address holds for its network only', async () => {
  const { body } = await stolenPayment()
  await replicas[0].database.pool.query(
    `INSERT INTO reserved_recipients (user_id, network, address, proof)
     SELECT id, 'another-network', $2, 'operator' FROM users WHERE email = $1`,
    [merchant.email, body.paymentRequirements.payTo],
  )
  expect(await settle(replicas[0], keys.stranger, body)).toMatchObject({ success: true })
})

test('the claim decides again: a settle that passed the first check before the reservation gets nothing', async () => {
  const { payer, body } = await stolenPayment()
  const isOfPayer = (params: unknown) =>
    JSON.stringify(params).toLowerCase().includes(payer.address.slice(2).toLowerCase())
  let asked = () => {}
  let open = () => {}
  const isAsked = new Promise<void>((resolve) => (asked = resolve))
  const gate = new Promise<void>((resolve) => (open = resolve))
  const slowNode = await startOddNode(rpcUrl, {
    async eth_call(params, forward) {
      if (isOfPayer(params)) {
        asked()
        await gate
      }
      return forward()
    },
  })
  const on = await testFacilitator({ rpcUrl: slowNode, chainUrl: rpcUrl, variables: { ADMIN_TOKEN } })
  const [owner, thief] = [await newAccount(on.api), await newAccount(on.api)]
  const settling = settle(on, await thief.newKey(), body)
  await isAsked
  await assign(on, owner, body.paymentRequirements.payTo).expect(200)
  open()
  expect(await settling).toMatchObject({ ...REFUSED, errorMessage: RESERVED })
  expect(await on.database.prisma.settlement.count()).toBe(0)
  expect(await settle(on, await owner.newKey(), body)).toMatchObject({ success: true })
})

test('of an owner and twenty strangers at once on two replicas, each after the reservation, only the owner settles', async () => {
  const wallet = Wallet.createRandom()
  await assign(replicas[0], merchant, wallet.address).expect(200)
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer, { requirements: { payTo: wallet.address } })
  const results = await Promise.all(
    Array.from({ length: 21 }, (_, n) =>
      settle(replicas[n % 2]!, n === 10 ? keys.merchant : keys.stranger, body),
    ),
  )
  expect(results[10]).toMatchObject({ success: true })
  expect(results.filter(({ success }) => success)).toHaveLength(1)
})
