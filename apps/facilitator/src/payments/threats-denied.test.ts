import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { hexlify, randomBytes, Wallet } from 'ethers'
import { ADMIN_TOKEN, asAdmin, deny, newAccount } from '../testing/accounts'
import { callRpc, newPayer, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import {
  COSMOS_AMOUNT,
  COSMOS_FEE,
  cosmosNetwork,
  cosmosRequest,
  newCosmosWallet,
  ownCosmosChain,
} from '../testing/cosmos'
import { newClient, testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { inVersion2, paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
const DETAIL = 'the payment is not accepted'

let replicas: [TestFacilitator, TestFacilitator]
let client: ClientHeaders
beforeAll(async () => {
  const first = await testFacilitator({ variables: { ADMIN_TOKEN } })
  replicas = [first, await testFacilitator(first.settings)]
  client = await newClient(first.api)
})
afterAll(closeAll)

async function post<T>({ api }: Pick<TestFacilitator, 'api'>, path: string, body: object, key = client) {
  return (await api.post(path).set(key).send(body).expect(200)).body as T
}

async function expectDenied(
  on: Pick<TestFacilitator, 'api'>,
  body: object,
  { version = 'v1', key = client }: { version?: string; key?: ClientHeaders } = {},
) {
  expect(await post<VerifyResult>(on, `/api/${version}/verify`, body, key)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_payment',
    invalidMessage: DETAIL,
    payer: '',
  })
  expect(await post<SettleResult>(on, `/api/${version}/settle`, body, key)).toMatchObject({
    success: false,
    errorReason: 'invalid_payment',
    errorMessage: DETAIL,
    transaction: '',
  })
}

const claims = () => replicas[0].database.prisma.settlement.count()
const allow = (address: string) => replicas[0].api.delete(`/admin/denied-addresses/${address}`).set(asAdmin)

test.each(['payer', 'recipient'] as const)(
  'payments of a denied %s are refused by both operations, versions and replicas, before a claim',
  async (role) => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const address = role === 'payer' ? payer.address : body.paymentRequirements.payTo
    expect(await post(replicas[0], '/api/v1/verify', body)).toMatchObject({ isValid: true })
    const before = await claims()

    await deny(replicas[0], address.toLowerCase())
    for (const on of replicas) {
      await expectDenied(on, body)
      await expectDenied(on, inVersion2(body), { version: 'v2' })
    }
    expect(await claims()).toBe(before)

    await allow(address.toLowerCase()).expect(200, { data: { deleted: address } })
    expect(await post(replicas[1], '/api/v1/settle', body)).toMatchObject({ success: true })
  },
)

test('a payment that was claimed before the denial fails if nothing was sent, and nothing is signed for it', async () => {
  const key = hexlify(randomBytes(32))
  const on = await testFacilitator({
    signerKeys: [key],
    variables: { ADMIN_TOKEN, SETTLE_TIMEOUT_SECONDS: '1' },
  })
  const own = await newClient(on.api)
  const [denied, other] = [await newPayer(rpcUrl), await newPayer(rpcUrl)]
  const bodies = [await paymentRequest(denied), await paymentRequest(other)]
  const pending = await Promise.all(bodies.map((body) => post<SettleResult>(on, '/api/v1/settle', body, own)))
  // The signer has no ether yet.
  expect(pending.map(({ errorReason }) => errorReason)).toEqual(Array(2).fill('settlement_pending'))
  await deny(on, denied.address)

  const signer = new Wallet(key).address
  await callRpc(rpcUrl, 'anvil_setBalance', signer, '0x8ac7230489e80000')
  const outcomes: SettleResult[] = []
  for (const body of bodies) {
    let result = await post<SettleResult>(on, '/api/v1/settle', body, own)
    while (result.errorReason === 'settlement_pending')
      result = await post<SettleResult>(on, '/api/v1/settle', body, own)
    outcomes.push(result)
  }
  expect(outcomes).toMatchObject([{ success: false, errorReason: 'invalid_payment' }, { success: true }])
  expect(await transactionCount(rpcUrl, signer)).toBe(1)
  expect(await transfersFrom(rpcUrl, denied.address)).toEqual([])
})

test('payments of a denied Cosmos sender are refused', async () => {
  const chain = await ownCosmosChain()
  const granter = await newCosmosWallet(chain.rpcUrl, 10n ** 9n)
  const on = await testFacilitator({
    variables: { ADMIN_TOKEN },
    networks: [cosmosNetwork(chain.rpcUrl, granter)],
  })
  const key = await newClient(on.api)
  const payer = await newCosmosWallet(chain.rpcUrl, COSMOS_AMOUNT + COSMOS_FEE)
  const body = await cosmosRequest(chain.rpcUrl, payer)
  expect(await post(on, '/api/v1/verify', body, key)).toMatchObject({ isValid: true })
  await deny(on, payer.address.toUpperCase())
  await expectDenied(on, body, { key })
  expect(await on.database.prisma.settlement.count()).toBe(0)
})

test('only the admin token reads and changes the list, in canonical spelling, and no refusal has its note', async () => {
  const { api } = replicas[0]
  const { authorization } = await newAccount(api)
  const { address } = Wallet.createRandom()
  for (const send of [
    api.post('/admin/denied-addresses').send({ address }),
    api.get('/admin/denied-addresses'),
    api.delete(`/admin/denied-addresses/${address}`),
  ])
    await send.set(authorization).expect(401)

  await deny(replicas[0], address.toLowerCase())
  const { data } = (await api.get('/api/v1/admin/denied-addresses').set(asAdmin).expect(200)).body as {
    data: object[]
  }
  expect(data[0]).toMatchObject({ address, note: 'a reason' })
  await allow(address).expect(200)
  await allow(address).expect(404)
  await allow('nonsense').expect(400)
  await api.post('/admin/denied-addresses').set(asAdmin).send({ address: 'nonsense' }).expect(400)
})
