import { closeAll, readableLog } from '@tollgate/testing'
import { AuthInfo, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc } from '../testing/chain'
import {
  COSMOS_AMOUNT,
  COSMOS_FEE,
  cosmosRequest,
  cosmosRequestOf,
  newCosmosWallet,
  signSend,
} from '../testing/cosmos'
import { hashOf, txOf } from '../testing/forged-cosmos'
import { newPayment, onGaslessChain } from '../testing/gasless'
import { SENT } from '../testing/hostile'

type Ground = Awaited<ReturnType<typeof onGaslessChain>>

afterAll(closeAll)

/** Resolves once a transaction waits at the node. */
async function untilPending(on: Ground): Promise<void> {
  const deadline = performance.now() + 30_000
  const pending = async () => ((await callRpc(on.rpcUrl, 'num_unconfirmed_txs')) as { total: string }).total
  while ((await pending()) === '0') {
    if (performance.now() > deadline) throw new Error('no transaction waits')
    await delay(20)
  }
}

describe('while it waits for a block,', () => {
  const paused = async () => {
    const on = await onGaslessChain()
    await on.stop()
    return on
  }
  const OVER = "settlements WHERE status IN ('settled', 'failed')"

  test.concurrent('a payment that its payer had sent before is a success, once, when it is mined', async () => {
    const on = await paused()
    const { body, hash, received } = await newPayment(on)
    await on.broadcast(txOf(body))
    const answer = on.settle(body)
    await on.until(SENT, 1)
    await on.mine()
    expect(await answer).toMatchObject({ success: true, transaction: hash })
    expect(await on.settle(body)).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
      transaction: '',
    })
    expect(await received()).toBe(COSMOS_AMOUNT)
  })

  test.concurrent('one whose message fails in its block, though it was taken, is never a success', async () => {
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
    expect([await received(), await on.sequenceOf(payer)]).toEqual([0n, 1])
    expect(await on.settle(body)).toMatchObject({ success: false })
    expect(await on.verify(body)).toMatchObject({ isValid: false })
  })

  test.concurrent('one that another transaction of its payer overtakes is not a success, and that one is not taken for it', async () => {
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

  test.concurrent('one that is dropped is sent again, and is a success', async () => {
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

  test.concurrent('one whose fee no node takes has failed at once, with what the node asks, and settles once it takes that', async () => {
    const on = await onGaslessChain({ variables: { SETTLE_TIMEOUT_SECONDS: '1' } })
    const { body, received, payer } = await newPayment(on)
    await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '1uatom')
    expect(await on.settleAtLast(body)).toMatchObject({
      success: false,
      errorReason: 'invalid_payment',
      errorMessage: `fee ${COSMOS_FEE}uatom, this node asks 200000uatom`,
    })
    expect([await received(), await on.sequenceOf(payer)]).toEqual([0n, 0])

    await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.025uatom')
    expect(await on.settleAtLast(body)).toMatchObject({ success: true, payer: payer.address })
    expect([await received(), await on.sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test.concurrent('one that its node refuses because it was just started is sent again, and no error', async () => {
    const log = readableLog()
    const on = await onGaslessChain({ log: log.stream })
    const { body, received } = await newPayment(on)
    await on.stop()
    await callRpc(on.rpcUrl, 'dev_restart')
    const answer = on.settle(body)
    const deadline = performance.now() + 30_000
    while (!JSON.stringify(log.lines()).includes('account number (0)')) {
      if (performance.now() > deadline) throw new Error('the node did not refuse it')
      await delay(20)
    }
    await on.mine()
    await on.chain.setPace('at-once')
    // Success is reported once: to the request that waits, or to the next one.
    const answers = await Promise.all([answer, on.settleAtLast(body)])
    expect(answers.filter(({ success }) => success)).toHaveLength(1)
    expect(await received()).toBe(COSMOS_AMOUNT)
    expect(log.lines().filter(({ level }) => level === 'error')).toEqual([])
  })

  test.concurrent('one that lapses before anybody mines it has expired', async () => {
    const on = await paused()
    const timeoutHeight = (await on.height()) + 6n
    const { body, received, payer } = await newPayment(on, { timeoutHeight })
    const answer = on.settle(body)
    await on.until(SENT, 1)
    await callRpc(on.rpcUrl, 'dev_dropPending')
    await callRpc(on.rpcUrl, 'dev_mine', '10')
    await on.until(OVER, 1)
    expect(await answer).toMatchObject({ success: false, errorReason: 'payment_expired', transaction: '' })
    expect([await received(), await on.sequenceOf(payer)]).toEqual([0n, 0])
  })

  test.concurrent('one that its facilitator forgets by a crash is the first transaction’s success, and there is no second', async () => {
    const on = await paused()
    const { body, hash, received, payer } = await newPayment(on)
    body.paymentRequirements.maxTimeoutSeconds = 1
    const answer = on.settle(body)
    await on.until(SENT, 1)
    expect(await answer).toMatchObject({ errorReason: 'settlement_pending' })
    expect(await on.settle(body)).toMatchObject({ errorReason: 'settlement_pending', transaction: hash })
    await on.facilitator.close()
    const next = await on.replica()
    await on.mine()
    expect(await on.settleAtLast(body, next)).toMatchObject({ success: true, transaction: hash })
    expect([await received(), await on.sequenceOf(payer)]).toEqual([COSMOS_AMOUNT, 1])
  })

  test.concurrent('one in amino that a stranger carries in other bytes is its payer’s payment all the same, once', async () => {
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
