import { StargateClient } from '@cosmjs/stargate'
import { encodeJson, type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { AuthInfo, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc } from '../testing/chain'
import {
  COSMOS_AMOUNT,
  cosmosRequest,
  cosmosRequestOf,
  newCosmosWallet,
  signSend,
  type CosmosChanges,
  type CosmosRequest,
  type CosmosWallet,
} from '../testing/cosmos'
import { newClient, type TestFacilitator } from '../testing/facilitator'
import { txOf } from '../testing/forged-cosmos'
import { onGaslessChain } from '../testing/gasless'
import { SENT } from '../testing/hostile'

type Ground = Awaited<ReturnType<typeof onGaslessChain>>

let ground: Ground
beforeAll(async () => {
  ground = await onGaslessChain()
})
afterAll(closeAll)

const hashOf = (tx: Uint8Array) => createHash('sha256').update(tx).digest('hex').toUpperCase()

/** A payer that can pay twice and bear the fees, and its payment to a recipient of its own. */
async function newPayment(
  on = ground,
  changes: CosmosChanges = {},
  mode: 'direct' | 'amino' = 'direct',
): Promise<{ payer: CosmosWallet; body: CosmosRequest; hash: string; received: () => Promise<bigint> }> {
  const payer = await newCosmosWallet(on.rpcUrl, 30_000n, mode)
  const body = await cosmosRequest(on.rpcUrl, payer, changes)
  const { payTo } = body.paymentRequirements
  return { payer, body, hash: hashOf(txOf(body)), received: () => on.balance(payTo) }
}

/** Sends a transaction as its payer would; resolves once it is in a block. */
async function sendSelf(tx: Uint8Array, on = ground): Promise<void> {
  const chain = await StargateClient.connect(on.rpcUrl)
  expect(await chain.broadcastTx(tx, 20_000, 20)).toMatchObject({ code: 0 })
  chain.disconnect()
}

/** Resolves once a transaction waits at the node. */
async function untilPending(on: Ground): Promise<void> {
  const deadline = performance.now() + 30_000
  const pending = async () => ((await callRpc(on.rpcUrl, 'num_unconfirmed_txs')) as { total: string }).total
  while ((await pending()) === '0') {
    if (performance.now() > deadline) throw new Error('no transaction waits')
    await delay(20)
  }
}

async function sequenceOf({ address }: CosmosWallet, on = ground): Promise<number> {
  const chain = await StargateClient.connect(on.rpcUrl)
  const { sequence } = await chain.getSequence(address)
  chain.disconnect()
  return sequence
}

/** Settles as a client of its own would. */
async function settleAs(
  facilitator: Pick<TestFacilitator, 'api'>,
  body: CosmosRequest,
): Promise<SettleResult> {
  const client = await newClient(facilitator.api)
  const told = await facilitator.api.post('/api/v1/settle').set(client).send(body).expect(200)
  return told.body as SettleResult
}

const successes = (results: readonly SettleResult[]) => results.filter(({ success }) => success)
const duplicate = { success: false, errorReason: 'duplicate_settlement', transaction: '' }

describe('a payment settles, be it', () => {
  test.each([
    ['signed in SIGN_MODE_DIRECT', 'direct', {}],
    ['signed in SIGN_MODE_LEGACY_AMINO_JSON', 'amino', { memo: 'one & two' }],
    ['with a timeout height', 'direct', { timeoutHeight: 1_000_000n }],
  ] as const)('%s', async (_, mode, changes) => {
    const { payer, body, hash, received } = await newPayment(ground, changes, mode)
    expect(await ground.verify(body)).toMatchObject({ isValid: true, payer: payer.address })
    expect(await ground.settle(body)).toMatchObject({
      success: true,
      payer: payer.address,
      transaction: hash,
      network: ground.network,
    })
    expect([await received(), await sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
    expect(await ground.grants()).toBe(0)
  })

  test('base64 of its JSON, or as x402 version 2 has it', async () => {
    const one = await newPayment()
    const text = { ...one.body.paymentPayload, payload: encodeJson(one.body.paymentPayload.payload) }
    const asText = { ...one.body, paymentPayload: text } as unknown as CosmosRequest
    expect(await ground.settle(asText)).toMatchObject({ success: true, transaction: one.hash })

    const { body, hash, payer } = await newPayment()
    const { maxAmountRequired: amount, asset, payTo, maxTimeoutSeconds } = body.paymentRequirements
    const network = `cosmos:${ground.network}`
    const accepted = { scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds }
    const told = await ground.facilitator.api
      .post('/api/v2/settle')
      .set(ground.client)
      .send({
        x402Version: 2,
        paymentPayload: { x402Version: 2, accepted, payload: body.paymentPayload.payload },
        paymentRequirements: accepted,
      })
      .expect(200)
    expect(told.body).toMatchObject({ success: true, transaction: hash, network, payer: payer.address })
  })
})

describe('a payment is one transfer and one success,', () => {
  test('whoever brings it again, after a restart and at a second replica too', async () => {
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
    expect([await received(), await sequenceOf(payer, first)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test('of twenty requests at once, over two replicas', async () => {
    const other = await ground.replica()
    const { body, received, payer, hash } = await newPayment()
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => ground.settle(body, i % 2 ? other : ground.facilitator)),
    )
    expect(successes(results)).toMatchObject([{ transaction: hash }])
    expect(new Set(results.filter(({ success }) => !success).map(({ errorReason }) => errorReason))).toEqual(
      new Set(['duplicate_settlement']),
    )
    expect([await received(), await sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
    await other.close()
  })

  test('of many clients at once, whatever its payer signed beside it under the same sequence', async () => {
    const { payer, body, received } = await newPayment()
    const { payTo } = body.paymentRequirements
    const others = await Promise.all(
      ['a', 'b', 'c', 'd'].map((memo) => cosmosRequest(ground.rpcUrl, payer, { payTo, memo })),
    )
    const results = await Promise.all([body, ...others].map((one) => settleAs(ground.facilitator, one)))
    expect(successes(results)).toHaveLength(1)
    const again = await Promise.all([body, ...others].map((one) => settleAs(ground.facilitator, one)))
    expect(successes(again)).toEqual([])
    expect([await received(), await sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test('for one of two who ask for it', async () => {
    const { body, received } = await newPayment()
    const other = structuredClone(body)
    other.paymentRequirements.resource = 'https://other.example/report'
    expect(successes(await Promise.all([ground.settle(body), ground.settle(other)]))).toHaveLength(1)
    expect(await received()).toBe(COSMOS_AMOUNT)
  })

  test('that its payer has sent itself', async () => {
    const { body, hash, received, payer } = await newPayment()
    await sendSelf(txOf(body))
    expect(await ground.verify(body)).toMatchObject({ isValid: false })
    expect(await ground.settle(body)).toMatchObject({ success: true, transaction: hash })
    expect(await ground.settle(body)).toMatchObject(duplicate)
    expect(await settleAs(ground.facilitator, body)).toMatchObject(duplicate)
    expect([await received(), await sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test.each([
    ['in octal', '+010000', false],
    ['in hex', '+0x2710', true],
    ['in binary', '+0b10011100010000', true],
    ['with a sign', '+10000', true],
  ])('that its payer sent with its amount %s is told as what the chain moved', async (_, amount, isPaid) => {
    const { payer, body, received } = await newPayment()
    const { payTo } = body.paymentRequirements
    const value = { fromAddress: payer.address, toAddress: payTo, amount: [{ denom: 'uatom', amount }] }
    const messages = [{ typeUrl: '/cosmos.bank.v1beta1.MsgSend', value }]
    await sendSelf(await signSend(ground.rpcUrl, payer, payTo, { messages }))
    expect(await ground.settle(body)).toMatchObject({ success: isPaid })
    expect(await ground.settle(body)).toMatchObject({ success: false })
    expect(await received()).toBe(isPaid ? COSMOS_AMOUNT : 4_096n)
  })

  test('and one that was sent long ago, for whatever it was, pays nothing now', async () => {
    const later = await onGaslessChain({ now: () => new Date(Date.now() + 700_000) })
    const { body } = await newPayment(later)
    await sendSelf(txOf(body), later)
    expect(await later.settle(body)).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
    })
  })
})

describe('between verify and settle', () => {
  test('the sequence goes to another transaction: refused, and nothing is sent', async () => {
    const { payer, body, received } = await newPayment()
    expect(await ground.verify(body)).toMatchObject({ isValid: true })
    await sendSelf(await signSend(ground.rpcUrl, payer, payer.address))
    const sent = await ground.count('transactions')
    expect(await ground.settle(body)).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
      transaction: '',
    })
    expect([await received(), await ground.count('transactions')]).toEqual([0n, sent])
  })

  test('the money goes elsewhere: refused, and nothing is sent', async () => {
    const { payer, body, received } = await newPayment()
    const { payTo } = body.paymentRequirements
    const next = await cosmosRequest(ground.rpcUrl, payer, { payTo, sequence: 1 })
    await sendSelf(await signSend(ground.rpcUrl, payer, ground.granter.address, { amount: 20_000n }))
    expect(await ground.settle(next)).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
    expect(await received()).toBe(0n)
  })
})

describe('while it waits for a block,', () => {
  const paused = async () => {
    const on = await onGaslessChain()
    await on.stop()
    return on
  }
  const OVER = "settlements where status in ('settled', 'failed')"

  test('a payment that its payer had sent before is a success, once, when it is mined', async () => {
    const on = await paused()
    const { body, hash, received } = await newPayment(on)
    await on.broadcast(txOf(body))
    const answer = on.settle(body)
    await on.until(SENT, 1)
    await on.mine()
    expect(await answer).toMatchObject({ success: true, transaction: hash })
    expect(await on.settle(body)).toMatchObject(duplicate)
    expect(await received()).toBe(COSMOS_AMOUNT)
  })

  test('one whose message fails in its block, though it was taken, is never a success', async () => {
    const on = await paused()
    const { body, received, payer } = await newPayment(on)
    const answer = on.settle(body)
    await on.until(SENT, 1)
    await callRpc(on.rpcUrl, 'dev_setSendEnabled', 'uatom', false)
    await on.mine()
    await callRpc(on.rpcUrl, 'dev_setSendEnabled', 'uatom', true)
    expect(await answer).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
      transaction: '',
    })
    // The chain took the fee and the sequence.
    expect([await received(), await sequenceOf(payer, on)]).toEqual([0n, 1])
    expect(await on.settle(body)).toMatchObject({ success: false })
    expect(await on.verify(body)).toMatchObject({ isValid: false })
  })

  test('one that another transaction of its payer overtakes is not a success, and that one is not taken for it', async () => {
    const on = await paused()
    const { body, payer, received } = await newPayment(on)
    const answer = on.settle(body)
    await on.until(SENT, 1)
    await callRpc(on.rpcUrl, 'dev_dropPending')
    await on.broadcast(await signSend(on.rpcUrl, payer, body.paymentRequirements.payTo, { amount: 5n }))
    await callRpc(on.rpcUrl, 'dev_mine', '25')
    await on.until(OVER, 1)
    expect(await answer).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
    expect(await received()).toBe(5n)
  })

  test('one that is dropped is sent again, and is a success', async () => {
    const on = await paused()
    const { body, hash, received } = await newPayment(on)
    const answer = on.settle(body)
    await on.until(SENT, 1)
    await callRpc(on.rpcUrl, 'dev_dropPending')
    await untilPending(on)
    await on.mine()
    expect(await answer).toMatchObject({ success: true, transaction: hash })
    expect(await received()).toBe(COSMOS_AMOUNT)
  })

  test('one that no node takes any more has failed in the end', async () => {
    const on = await onGaslessChain({ variables: { SETTLE_WAIT_SECONDS: '1' } })
    const { body, received, payer } = await newPayment(on)
    await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '1uatom')
    expect(await on.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    await on.until('transactions where offered_at is null', 1)
    await on.pool.query("update transactions set signed_at = now() - interval '2 minutes'")
    await on.until("settlements where status = 'failed'", 1)
    expect(await on.settle(body)).toMatchObject({ success: false })
    expect([await received(), await sequenceOf(payer, on)]).toEqual([0n, 0])
  })

  test('one that lapses before anybody mines it has expired', async () => {
    const on = await paused()
    const chain = await StargateClient.connect(on.rpcUrl)
    const timeoutHeight = BigInt(await chain.getHeight()) + 6n
    chain.disconnect()
    const { body, received, payer } = await newPayment(on, { timeoutHeight })
    const answer = on.settle(body)
    await on.until(SENT, 1)
    await callRpc(on.rpcUrl, 'dev_dropPending')
    await callRpc(on.rpcUrl, 'dev_mine', '10')
    await on.until(OVER, 1)
    expect(await answer).toMatchObject({ success: false, errorReason: 'payment_expired', transaction: '' })
    expect([await received(), await sequenceOf(payer, on)]).toEqual([0n, 0])
  })

  test('one that its facilitator forgets by a crash is the first transaction’s success, and there is no second', async () => {
    const on = await paused()
    const { body, hash, received, payer } = await newPayment(on)
    body.paymentRequirements.maxTimeoutSeconds = 1
    expect(await on.settle(body)).toMatchObject({ errorReason: 'settlement_pending', transaction: hash })
    await on.until(SENT, 1)
    await on.facilitator.close()
    const next = await on.replica()
    await on.mine()
    let told = await on.settle(body, next)
    while (told.errorReason === 'settlement_pending') told = await on.settle(body, next)
    expect(told).toMatchObject({ success: true, transaction: hash })
    expect([await received(), await sequenceOf(payer, on)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test('one in amino that a stranger carries in other bytes is its payer’s payment all the same, once', async () => {
    const on = await onGaslessChain()
    const payer = await newCosmosWallet(on.rpcUrl, 100_000n, 'amino')
    // From then on the chain knows the key, and a transaction need not name it.
    expect(await on.settle(await cosmosRequest(on.rpcUrl, payer))).toMatchObject({ success: true })
    await on.stop()
    const body = await cosmosRequest(on.rpcUrl, payer)
    const { payTo } = body.paymentRequirements
    const tx = TxRaw.decode(txOf(body))
    const authInfo = AuthInfo.decode(tx.authInfoBytes)
    const signerInfos = authInfo.signerInfos.map((info) => ({
      modeInfo: info.modeInfo!,
      sequence: info.sequence,
    }))
    const authInfoBytes = AuthInfo.encode({ ...authInfo, signerInfos }).finish()
    const carried = TxRaw.encode({ ...tx, authInfoBytes }).finish()
    await on.broadcast(carried)
    const answer = on.settle(body)
    await on.until('transactions', 2)
    await on.mine()
    expect(await answer).toMatchObject({ success: true, transaction: hashOf(carried) })
    const other = cosmosRequestOf(payer, carried, { payTo, amount: COSMOS_AMOUNT })
    for (const one of [body, other]) expect((await on.settle(one)).success).toBe(false)
    expect(await on.balance(payTo)).toBe(COSMOS_AMOUNT)
  })
})
