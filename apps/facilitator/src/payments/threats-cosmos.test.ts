import { StargateClient } from '@cosmjs/stargate'
import { encodeJson, type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { COSMOS_AMOUNT, cosmosRequest, signSend, type CosmosRequest } from '../testing/cosmos'
import { newClient, type TestFacilitator } from '../testing/facilitator'
import { txOf } from '../testing/forged-cosmos'
import { newPayment, onGaslessChain } from '../testing/gasless'

type Harness = Awaited<ReturnType<typeof onGaslessChain>>

let harness: Harness
beforeAll(async () => {
  harness = await onGaslessChain()
})
afterAll(closeAll)

/** Resolves once the transaction is in a block. */
async function sendSelf(tx: Uint8Array, on = harness): Promise<void> {
  const chain = await StargateClient.connect(on.rpcUrl)
  expect(await chain.broadcastTx(tx, 20_000, 20)).toMatchObject({ code: 0 })
  chain.disconnect()
}

/** Settles with a new client key. */
async function settleAs(
  facilitator: Pick<TestFacilitator, 'api'>,
  body: CosmosRequest,
): Promise<SettleResult> {
  const client = await newClient(facilitator.api)
  const answer = await facilitator.api.post('/api/v1/settle').set(client).send(body).expect(200)
  return answer.body as SettleResult
}

const successes = (results: readonly SettleResult[]) => results.filter(({ success }) => success)
const duplicate = { success: false, errorReason: 'duplicate_settlement', transaction: '' }

describe('a payment settles', () => {
  test.each([
    ['signed in SIGN_MODE_DIRECT', 'direct', {}],
    ['signed in SIGN_MODE_LEGACY_AMINO_JSON', 'amino', { memo: 'one & two' }],
    ['with a timeout height', 'direct', { timeoutHeight: 1_000_000n }],
  ] as const)('%s', async (_, mode, changes) => {
    const { payer, body, hash, received } = await newPayment(harness, changes, mode)
    expect(await harness.verify(body)).toMatchObject({ isValid: true, payer: payer.address })
    expect(await harness.settle(body)).toMatchObject({
      success: true,
      payer: payer.address,
      transaction: hash,
      network: harness.network,
    })
    expect([await received(), await harness.sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
    expect(await harness.grants()).toBe(0)
  })

  test('base64 of its JSON, or as x402 version 2 has it', async () => {
    const one = await newPayment(harness)
    const text = { ...one.body.paymentPayload, payload: encodeJson(one.body.paymentPayload.payload) }
    const asText = { ...one.body, paymentPayload: text } as unknown as CosmosRequest
    expect(await harness.settle(asText)).toMatchObject({ success: true, transaction: one.hash })

    const { body, hash, payer } = await newPayment(harness)
    const { maxAmountRequired: amount, asset, payTo, maxTimeoutSeconds } = body.paymentRequirements
    const network = `cosmos:${harness.network}`
    const accepted = { scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds }
    const answer = await harness.facilitator.api
      .post('/api/v2/settle')
      .set(harness.client)
      .send({
        x402Version: 2,
        paymentPayload: { x402Version: 2, accepted, payload: body.paymentPayload.payload },
        paymentRequirements: accepted,
      })
      .expect(200)
    expect(answer.body).toMatchObject({ success: true, transaction: hash, network, payer: payer.address })
  })
})

describe('a payment is one transfer and one success,', () => {
  test('by whichever client sends it again, after a restart and at a second replica too', async () => {
    const first = await onGaslessChain()
    const { body, received, payer } = await newPayment(first)
    expect(await first.settle(body)).toMatchObject({ success: true })
    const second = await first.replica()
    for (const where of [first.facilitator, second]) {
      expect(await settleAs(where, body)).toMatchObject(duplicate)
      expect(await first.settle(body, where)).toMatchObject(duplicate)
    }
    await Promise.all([first.facilitator.close(), second.close()])
    const later = await first.replica()
    expect(await first.settle(body, later)).toMatchObject(duplicate)
    expect(await first.verify(body, later)).toMatchObject({ isValid: false })
    expect([await received(), await first.sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test('of twenty requests at once, over two replicas', async () => {
    const other = await harness.replica()
    const { body, received, payer, hash } = await newPayment(harness)
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => harness.settle(body, i % 2 ? other : harness.facilitator)),
    )
    expect(successes(results)).toMatchObject([{ transaction: hash }])
    expect(new Set(results.filter(({ success }) => !success).map(({ errorReason }) => errorReason))).toEqual(
      new Set(['duplicate_settlement']),
    )
    expect([await received(), await harness.sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
    await other.close()
  })

  test('of many clients at once, also if its payer signed another payment under the same sequence', async () => {
    const { payer, body, received } = await newPayment(harness)
    const { payTo } = body.paymentRequirements
    const others = await Promise.all(
      ['a', 'b', 'c', 'd'].map((memo) => cosmosRequest(harness.rpcUrl, payer, { payTo, memo })),
    )
    const results = await Promise.all([body, ...others].map((one) => settleAs(harness.facilitator, one)))
    expect(successes(results)).toHaveLength(1)
    const again = await Promise.all([body, ...others].map((one) => settleAs(harness.facilitator, one)))
    expect(successes(again)).toEqual([])
    expect([await received(), await harness.sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test('for one of two who ask for it', async () => {
    const { body, received } = await newPayment(harness)
    const other = structuredClone(body)
    other.paymentRequirements.resource = 'https://other.example/report'
    expect(successes(await Promise.all([harness.settle(body), harness.settle(other)]))).toHaveLength(1)
    expect(await received()).toBe(COSMOS_AMOUNT)
  })

  test('and none if its payer sent it before the request: verify and settle agree', async () => {
    const { body, received, payer } = await newPayment(harness)
    await sendSelf(txOf(body))
    const invalidReason = 'invalid_transaction_state'
    expect(await harness.verify(body)).toMatchObject({ isValid: false, invalidReason })
    expect(await harness.settle(body)).toMatchObject({ success: false, errorReason: invalidReason })
    expect(await settleAs(harness.facilitator, body)).toMatchObject({ success: false })
    expect([await received(), await harness.sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
  })
})

describe('between verify and settle', () => {
  test('the sequence goes to another transaction: refused, and nothing is sent', async () => {
    const { payer, body, received } = await newPayment(harness)
    expect(await harness.verify(body)).toMatchObject({ isValid: true })
    await sendSelf(await signSend(harness.rpcUrl, payer, payer.address))
    const sent = await harness.count('transactions')
    expect(await harness.settle(body)).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
      transaction: '',
    })
    expect([await received(), await harness.count('transactions')]).toEqual([0n, sent])
  })

  test('the money goes elsewhere: refused, and nothing is sent', async () => {
    const { payer, body, received } = await newPayment(harness)
    const { payTo } = body.paymentRequirements
    const next = await cosmosRequest(harness.rpcUrl, payer, { payTo, sequence: 1 })
    await sendSelf(await signSend(harness.rpcUrl, payer, harness.granter.address, { amount: 20_000n }))
    expect(await harness.settle(next)).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
    expect(await received()).toBe(0n)
  })
})
