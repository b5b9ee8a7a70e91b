import { closeAll } from '@tollgate/testing'
import { callRpc } from '../testing/chain'
import { COSMOS_AMOUNT, COSMOS_FEE } from '../testing/cosmos'
import { onGaslessChain, paymentInWaiting } from '../testing/gasless'
import { txOf } from '../testing/forged-cosmos'
import { startRefusingNode } from '../testing/unindexed-node'

afterAll(closeAll)

const SHORT_TIMEOUT = { variables: { SETTLE_TIMEOUT_SECONDS: '1' } }
const GRANT_SENT = "transactions WHERE status = 'signed' AND is_fee_grant AND accepted_at IS NOT NULL"
const PAYMENT_SENT = "transactions WHERE status = 'signed' AND nonce IS NULL AND accepted_at IS NOT NULL"
const PAYMENT_SIGNED = "transactions WHERE status = 'signed' AND nonce IS NULL"

describe('a payment that was sent and failed leaves its sequence to another payment of its payer', () => {
  test.concurrent('once its timeout height has passed: one of the concurrent requests gets its success, and the payer is charged once', async () => {
    const on = await onGaslessChain(SHORT_TIMEOUT)
    await on.stop()
    const lapsing = { funds: 3n * COSMOS_AMOUNT, timeoutHeight: (await on.height()) + 8n }
    const { payer, body, payTo } = await paymentInWaiting(on, lapsing)
    await on.until(PAYMENT_SENT, 1)
    await callRpc(on.rpcUrl, 'dev_dropPending')
    await callRpc(on.rpcUrl, 'dev_mine', '20')
    expect(await on.settleAtLast(body)).toMatchObject({ success: false, errorReason: 'payment_expired' })

    await on.chain.setPace('at-once')
    const next = await on.gasless(payer, { granter: undefined, payTo, memo: 'again' })
    const results = await Promise.all(Array.from({ length: 5 }, () => on.settleAtLast(next)))
    expect(results.filter(({ success }) => success)).toHaveLength(1)
    expect(results.filter(({ errorReason }) => errorReason === 'duplicate_settlement')).toHaveLength(4)
    expect(await on.settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    expect([await on.balance(payTo), await on.balance(payer.address)]).toEqual([
      COSMOS_AMOUNT,
      2n * COSMOS_AMOUNT - COSMOS_FEE,
    ])
  })

  test.concurrent('once every node refused its fee: the other payment may offer more', async () => {
    const on = await onGaslessChain(SHORT_TIMEOUT)
    await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.1uatom')
    const payer = await on.newPayer(4n * COSMOS_AMOUNT)
    const body = await on.gasless(payer, { granter: undefined })
    const { payTo } = body.paymentRequirements
    await on.stop()
    expect(await on.settleAtLast(body)).toMatchObject({ errorReason: 'invalid_payment' })

    await on.chain.setPace('at-once')
    const fee = { amount: [{ denom: 'uatom', amount: '20000' }], gas: '200000' }
    const next = await on.gasless(payer, { granter: undefined, payTo, fee })
    expect(await on.settleAtLast(next)).toMatchObject({ success: true, payer: payer.address })
    expect([await on.balance(payTo), await on.balance(payer.address)]).toEqual([COSMOS_AMOUNT, COSMOS_AMOUNT])
  })
})

test.concurrent('a payment that no node accepted and that a third party settled since buys nothing', async () => {
  const on = await onGaslessChain(SHORT_TIMEOUT)
  await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.1uatom')
  const body = await on.gasless(await on.newPayer(4n * COSMOS_AMOUNT), { granter: undefined })
  expect(await on.settleAtLast(body)).toMatchObject({ errorReason: 'invalid_payment' })

  await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.025uatom')
  await on.broadcast(txOf(body))
  expect(await on.verify(body)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_transaction_state',
  })
  expect(await on.settleAtLast(body)).toMatchObject({
    success: false,
    errorReason: 'invalid_transaction_state',
  })
  expect(await on.balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
})

test.concurrent('a payment that a node once accepted is pending and does not fail if all nodes refuse it later', async () => {
  const node: { found?: Awaited<ReturnType<typeof startRefusingNode>>; refuses: boolean } = {
    refuses: false,
  }
  const on = await onGaslessChain({
    ...SHORT_TIMEOUT,
    async network(rpcUrl) {
      node.found = await startRefusingNode(rpcUrl, () => node.refuses)
      return { rpcUrls: [node.found.url] }
    },
  })
  const payer = await on.newPayer()
  const body = await on.gasless(payer)
  await on.stop()
  expect(await on.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
  await on.until(GRANT_SENT, 1)
  await on.mine()
  await on.until(PAYMENT_SENT, 1)

  node.refuses = true
  await callRpc(on.rpcUrl, 'dev_dropPending')
  await on.revoke(payer)
  await on.age()
  await on.until('transactions WHERE is_fee_grant', 2)
  node.refuses = false
  await on.until(GRANT_SENT, 1)
  node.refuses = true
  await on.mine()
  await on.until(PAYMENT_SIGNED, 1)
  await on.age()
  await node.found!.untilRefused(3)
  // Checked before it is settled again, because a failed claim can be reclaimed.
  expect(await on.count("settlements WHERE status = 'failed'")).toBe(0)
  expect(await on.settle(body)).toMatchObject({ success: false, errorReason: 'settlement_pending' })

  node.refuses = false
  await on.chain.setPace('at-once')
  expect(await on.settleAtLast(body)).toMatchObject({ success: true, payer: payer.address })
  expect([await on.balance(body.paymentRequirements.payTo), await on.grants()]).toEqual([COSMOS_AMOUNT, 3])
})
