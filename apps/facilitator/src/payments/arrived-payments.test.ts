import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { createLogger, openEphemeralStore } from '@tollgate/service'
import { closeAll, readableLog } from '@tollgate/testing'
import { Wallet, type BaseWallet } from 'ethers'
import { ADMIN_TOKEN, assign, newAccount, type Account } from '../testing/accounts'
import { callRpc, newPayer, ownChain, sharedChain, transactionCount } from '../testing/chain'
import { cosmosNetwork, newCosmosWallet, ownCosmosChain } from '../testing/cosmos'
import { testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import {
  byAuthorization,
  byBankSend,
  byPermitOfPayer,
  byRawTransfer,
  type MadePayment,
} from '../testing/made-payment'
import { faulty } from '../testing/faulty'
import { inSeconds, paymentRequest } from '../testing/payment'
import { newSender, rawOf, rawRequest, transfer } from '../testing/raw-transfer'
import { sendAuthorization } from '../testing/third-party'

const rpcUrl = sharedChain()
const SPENT = 'invalid_transaction_state'

let cosmosUrl: string
let replicas: [TestFacilitator, TestFacilitator]
let shop: Account
let keys: { shop: ClientHeaders; second: ClientHeaders; other: ClientHeaders }
beforeAll(async () => {
  cosmosUrl = (await ownCosmosChain()).rpcUrl
  const networks = [cosmosNetwork(cosmosUrl, await newCosmosWallet(cosmosUrl, 1_000_000_000n))]
  const first = await testFacilitator({ networks, variables: { ADMIN_TOKEN } })
  replicas = [first, await testFacilitator(first.settings)]
  shop = await newAccount(first.api)
  const other = await newAccount(first.api)
  keys = { shop: await shop.newKey(), second: await shop.newKey(), other: await other.newKey() }
})
afterAll(closeAll)

const kinds: [string, () => Promise<MadePayment>][] = [
  ['an authorization that somebody sent', () => byAuthorization(rpcUrl)],
  ['a raw transfer', () => byRawTransfer(rpcUrl, Wallet.createRandom().address)],
  ['a bank send', () => byBankSend(cosmosUrl)],
  ['a Permit2 transfer that somebody sent', () => byPermitOfPayer(rpcUrl)],
]

type Headers = Record<string, string>
const post = async (path: string, key: Headers, body: object, on = replicas[0]) =>
  (await on.api.post(path).set(key).send(body).expect(200)).body as VerifyResult & SettleResult
type Presented = Pick<MadePayment, 'version' | 'body'>
const verify = (payment: Presented, key: Headers = keys.shop, on = replicas[0]) =>
  post(`/api/${payment.version}/verify`, key, payment.body, on)
const settle = (payment: Presented, key: Headers = keys.shop, on = replicas[0]) =>
  post(`/api/${payment.version}/settle`, key, payment.body, on)
const reserve = ({ payTo, network }: Pick<MadePayment, 'payTo' | 'network'>, account = shop) =>
  assign(replicas[0], account, payTo, network).expect(200)
const sent = () => transactionCount(rpcUrl, replicas[0].signers[0]!.address)

async function expectRefused(payment: Presented, key: Headers, reason: string) {
  expect(await verify(payment, key)).toMatchObject({ isValid: false, invalidReason: reason })
  expect(await settle(payment, key)).toMatchObject({ success: false, errorReason: reason, transaction: '' })
}

describe.each(kinds)('%s, which is on chain before it is presented,', (_, newPayment) => {
  test('is settled once without a transaction of ours, where the account of the key has reserved the recipient', async () => {
    const payment = await newPayment()
    await reserve(payment)
    const hash = await payment.make()
    const before = await sent()
    expect(await verify(payment)).toMatchObject({ isValid: true, cachedResult: false })
    const results = await Promise.all(
      Array.from({ length: 12 }, (__, n) =>
        settle(payment, n % 3 === 0 ? keys.second : keys.shop, replicas[n % 2]),
      ),
    )
    const successes = results.filter(({ success }) => success)
    expect(successes).toEqual([
      expect.objectContaining({
        transaction: hash,
        arrived: true,
        blockNumber: expect.any(Number) as number,
      }),
    ])
    expect(new Set(results.map(({ errorReason }) => errorReason))).toEqual(
      new Set(['', 'duplicate_settlement']),
    )
    expect(await verify(payment)).toMatchObject({ isValid: false, invalidReason: SPENT })
    expect(await sent()).toBe(before)
    const { rows } = await replicas[0].database.pool.query(
      'SELECT status, arrived, fee::text, transaction_id FROM settlements WHERE transaction_hash = $1',
      [hash],
    )
    expect(rows).toEqual([{ status: 'settled', arrived: true, fee: '0', transaction_id: null }])
  })

  test('buys nothing at a recipient that is not reserved, or reserved by another account', async () => {
    const payment = await newPayment()
    await payment.make()
    await expectRefused(payment, keys.shop, SPENT)
    await reserve(payment)
    await expectRefused(payment, keys.other, 'invalid_payment_requirements')
    // What was refused before the reservation does not hide it from the account that has one.
    expect(await settle(payment)).toMatchObject({ success: true, arrived: true })
  })

  test('answers a repeat under its Idempotency-Key alike', async () => {
    const payment = await newPayment()
    await reserve(payment)
    await payment.make()
    const key = { ...keys.shop, 'Idempotency-Key': 'order-1' }
    const first = await settle(payment, key)
    expect(first).toMatchObject({ success: true, arrived: true })
    expect(await settle(payment, key, replicas[1])).toEqual(first)
    expect(await settle(payment)).toMatchObject({ errorReason: 'duplicate_settlement' })
  })
})

test('a payment that we send ourselves is not said to have arrived before', async () => {
  const payment = await byAuthorization(rpcUrl)
  await reserve(payment)
  const result = await settle(payment)
  expect(result).toMatchObject({ success: true })
  expect(result).not.toHaveProperty('arrived')
})

/** The chain is some seconds old by the clock of this facilitator. */
let aged: {
  facilitator: TestFacilitator
  key: ClientHeaders
  account: Account
  age: (seconds: number) => void
}
beforeAll(async () => {
  let ahead = 0
  const facilitator = await testFacilitator({
    variables: { ADMIN_TOKEN, ARRIVED_PAYMENT_MAX_AGE_SECONDS: '300' },
    now: () => new Date(Date.now() + 1_000 * ahead),
  })
  const account = await newAccount(facilitator.api)
  const age = (seconds: number) => (ahead = seconds)
  aged = { facilitator, key: await account.newKey(), account, age }
})
const ask = (path: string, body: object) => post(path, aged.key, body, aged.facilitator)

test.each([
  ['an authorization that has ended since', () => byAuthorization(rpcUrl)],
  ['a raw transfer', () => byRawTransfer(rpcUrl, Wallet.createRandom().address)],
])('%s counts until it is too old, by the time of its block', async (_, newPayment) => {
  const { body, payTo, make } = await newPayment()
  aged.age(0)
  await assign(aged.facilitator, aged.account, payTo).expect(200)
  const hash = await make()
  aged.age(400)
  const old = {
    invalidReason: SPENT,
    invalidMessage: expect.stringContaining('300 seconds before') as string,
  }
  expect(await ask('/api/v1/verify', body)).toMatchObject({ isValid: false, ...old })
  expect(await ask('/api/v1/settle', body)).toMatchObject({ success: false, errorReason: SPENT })
  aged.age(250)
  expect(await ask('/api/v1/verify', body)).toMatchObject({ isValid: true })
  expect(await ask('/api/v1/settle', body)).toMatchObject({ success: true, transaction: hash, arrived: true })
})

test('an authorization that was used for other terms, or whose signature is another, pays nothing', async () => {
  const payer = await newPayer(rpcUrl)
  const used = await paymentRequest(payer)
  const { payTo } = used.paymentRequirements
  await reserve({ payTo, network: 'base-sepolia' })
  const { nonce } = used.paymentPayload.payload.authorization
  const more = await paymentRequest(payer, {
    requirements: { payTo, maxAmountRequired: '10001' },
    authorization: { nonce },
  })
  await sendAuthorization(rpcUrl, used)
  await expectRefused({ version: 'v1', body: more }, keys.shop, SPENT)
  const { paymentPayload } = used
  const { signature } = more.paymentPayload.payload
  const forged = {
    ...used,
    paymentPayload: { ...paymentPayload, payload: { ...paymentPayload.payload, signature } },
  }
  await expectRefused({ version: 'v1', body: forged }, keys.shop, 'invalid_exact_evm_payload_signature')
  for (const changes of [{ maxAmountRequired: '9999' }, { payTo: payer.address }]) {
    const body = { ...used, paymentRequirements: { ...used.paymentRequirements, ...changes } }
    expect(await verify({ version: 'v1', body })).toMatchObject({ isValid: false })
    expect(await settle({ version: 'v1', body })).toMatchObject({ success: false })
  }
  expect(await settle({ version: 'v1', body: used })).toMatchObject({ success: true })
})

test('a raw transfer counts whatever gas it took, and not if another transaction took its account nonce', async () => {
  const payTo = Wallet.createRandom().address
  await reserve({ payTo, network: 'base-sepolia' })
  const requestOf = async (payer: BaseWallet, gasLimit: number) => {
    const raw = rawOf(payer, { data: transfer(payTo), gasLimit })
    return { raw, version: 'v1', body: await rawRequest({ rawTx: raw }, { payTo }) } as const
  }
  const send = (raw: string) => callRpc(rpcUrl, 'eth_sendRawTransactionSync', raw)

  const generous = await requestOf(await newSender(rpcUrl), 5_000_000)
  await expectRefused(generous, keys.shop, 'invalid_payment')
  await send(generous.raw)
  expect(await settle(generous)).toMatchObject({ success: true, arrived: true })

  const payer = await newSender(rpcUrl)
  const [kept, replaced] = [await requestOf(payer, 90_000), await requestOf(payer, 80_000)]
  await send(kept.raw)
  await expectRefused(replaced, keys.shop, SPENT)
  expect(await settle(kept)).toMatchObject({ success: true })
})

describe('what cannot have arrived is looked up', () => {
  const SPENT_FINALLY = 70
  let asked = 0
  let ahead = 0
  let on: { rpcUrl: string; facilitator: TestFacilitator; account: Account; key: ClientHeaders }
  beforeAll(async () => {
    const { rpcUrl } = await ownChain()
    const families = faulty(({ payments }) => ({
      payments: {
        findTransfer: (request) => {
          asked += 1
          return payments.findTransfer(request)
        },
      },
    }))
    const now = () => new Date(Date.now() + 1_000 * ahead)
    const { stream } = readableLog()
    const logger = createLogger({ service: 'test', level: 'info', stream })
    const ephemeral = await openEphemeralStore({ logger, now })
    const facilitator = await testFacilitator({
      rpcUrl,
      families,
      variables: { ADMIN_TOKEN },
      ephemeral,
      now,
    })
    const account = await newAccount(facilitator.api)
    on = { rpcUrl, facilitator, account, key: await account.newKey() }
  })

  const present = (path: string, body: object) => post(`/api/v1/${path}`, on.key, body, on.facilitator)

  test('once a minute, as soon as no reorg can change it', async () => {
    const payer = await newPayer(on.rpcUrl)
    const used = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
    const { payTo } = used.paymentRequirements
    await assign(on.facilitator, on.account, payTo).expect(200)
    const { nonce } = used.paymentPayload.payload.authorization
    const other = await paymentRequest(payer, {
      requirements: { payTo, maxAmountRequired: '10001' },
      authorization: { nonce, validBefore: inSeconds(600) },
    })
    await sendAuthorization(on.rpcUrl, used)
    const presented = async () => {
      const before = asked
      for (let time = 0; time < 2; time++) {
        expect(await present('verify', other)).toMatchObject({ isValid: false, invalidReason: SPENT })
        expect(await present('settle', other)).toMatchObject({ success: false, errorReason: SPENT })
      }
      return asked - before
    }
    expect(await presented()).toBe(4)
    await callRpc(on.rpcUrl, 'anvil_mine', SPENT_FINALLY, 0)
    expect([await presented(), await presented()]).toEqual([1, 0])
    ahead = 61
    expect([await presented(), await presented()]).toEqual([1, 0])
    expect(await present('settle', used)).toMatchObject({ success: true, arrived: true })
  })

  test('each time while it may yet arrive', async () => {
    const payer = await newPayer(on.rpcUrl, 0n)
    const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
    await assign(on.facilitator, on.account, body.paymentRequirements.payTo).expect(200)
    const poor = { success: false, errorReason: 'insufficient_funds' }
    expect([await present('settle', body), await present('settle', body)]).toMatchObject([poor, poor])
    await callRpc(on.rpcUrl, 'anvil_dealERC20', payer.address, USDC_ADDRESS, '0x2710')
    const transaction = await sendAuthorization(on.rpcUrl, body)
    expect(await present('settle', body)).toMatchObject({ success: true, transaction, arrived: true })
  })
})

test('a reservation that ends before the claim ends what was verified by it', async () => {
  const payment = await byAuthorization(rpcUrl)
  const { data } = (await reserve(payment)).body as { data: { id: number } }
  await payment.make()
  expect(await verify(payment)).toMatchObject({ isValid: true })
  await shop.release(data.id).expect(200)
  await expectRefused(payment, keys.shop, SPENT)
})
