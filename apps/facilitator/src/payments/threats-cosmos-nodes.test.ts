import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { callRpc } from '../testing/chain'
import { COSMOS_AMOUNT, COSMOS_FEE, signSend, type CosmosRequest } from '../testing/cosmos'
import { startOddNode, type MethodHandler } from '../testing/failing-node'
import { onGaslessChain, paymentInWaiting } from '../testing/gasless'
import { startStaleNode } from '../testing/stale-node'
import { startRefusingNode, startUnindexedNode } from '../testing/unindexed-node'

afterAll(closeAll)

/** Of a settle request. The nodes have time to answer on a busy machine: none of these tests is about one that is slow. */
const SHORT_TIMEOUT = { variables: { SETTLE_TIMEOUT_SECONDS: '1' }, rpcTimeoutMs: 30_000 }
const PAYMENT_SENT = "transactions WHERE status = 'signed' AND nonce IS NULL AND accepted_at IS NOT NULL"

test.concurrent.each([
  ['', { takesBatches: true }],
  [', which takes one question at a time,', { takesBatches: false }],
])(
  'payments that one node%s took without an answer, and another refuses, are pending, and settle once they are mined',
  async (_, options) => {
    const node: { refusing?: Awaited<ReturnType<typeof startRefusingNode>> } = {}
    const on = await onGaslessChain({
      ...SHORT_TIMEOUT,
      async network(rpcUrl) {
        node.refusing = await startRefusingNode(rpcUrl)
        const cutOff: MethodHandler = async (_, forward) => {
          await forward()
          throw new Error('It is cut off before it answers')
        }
        return {
          rpcUrls: [await startOddNode(rpcUrl, { broadcast_tx_sync: cutOff }, options), node.refusing.url],
        }
      },
    })
    const payers = await Promise.all(
      Array.from({ length: 12 }, () => on.newPayer(COSMOS_AMOUNT + COSMOS_FEE)),
    )
    const bodies = await Promise.all(payers.map((payer) => on.gasless(payer, { granter: undefined })))
    const answers: Promise<SettleResult>[] = []
    await on.stop()
    // Concurrently, so that the settler sends the nodes several at once.
    await on.beforeAnyFee(async () => {
      answers.push(...bodies.map((body) => on.settle(body)))
      await on.until('settlements', bodies.length)
    })
    await on.until('transactions', bodies.length)
    await on.age()
    await node.refusing!.untilRefused(3 * bodies.length)
    // Checked before they are settled again, because a failed claim can be reclaimed.
    expect(await on.count("settlements WHERE status = 'failed'")).toBe(0)
    answers.push(...bodies.map((body) => on.settle(body)))
    for (const { errorReason } of await Promise.all(answers)) expect(errorReason).toBe('settlement_pending')

    await on.chain.setPace('at-once')
    for (const body of bodies) {
      expect(await on.settleAtLast(body)).toMatchObject({ success: true })
      expect(await on.balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    }
  },
)

test.concurrent('a mined payment that the node has in no index stays pending and does not fail', async () => {
  const node: { found?: Awaited<ReturnType<typeof startUnindexedNode>> } = {}
  const on = await onGaslessChain({
    ...SHORT_TIMEOUT,
    async network(rpcUrl) {
      node.found = await startUnindexedNode(rpcUrl, ['tx', 'tx_search'])
      return { rpcUrls: [node.found.url] }
    },
  })
  const { payer, body, payTo } = await paymentInWaiting(on)
  await on.until(PAYMENT_SENT, 1)
  node.found!.forget()
  await callRpc(on.rpcUrl, 'dev_mine', '25')
  await node.found!.untilAsked(8)
  expect(await on.settle(body)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  node.found!.recall()
  expect(await on.settleAtLast(body)).toMatchObject({ success: true, payer: payer.address })
  expect(await on.balance(payTo)).toBe(COSMOS_AMOUNT)
})

test.concurrent.each<[string, MethodHandler]>([
  [
    'still has its bytes in its cache',
    () =>
      Promise.resolve({
        error: { code: -32603, message: 'Internal error', data: 'tx already exists in cache' },
      }),
  ],
  ['answers nothing that it is sent', () => Promise.reject(new Error('It is cut off'))],
])('a payment whose sequence went to another has failed, though a node %s', async (_, odd) => {
  let isOdd = false
  const on = await onGaslessChain({
    ...SHORT_TIMEOUT,
    network: async (rpcUrl) => ({
      rpcUrls: [
        await startOddNode(rpcUrl, {
          broadcast_tx_sync: (params, forward) => (isOdd ? odd(params, forward) : forward()),
        }),
        rpcUrl,
      ],
    }),
  })
  const { payer, body, payTo } = await paymentInWaiting(on, { funds: 4n * COSMOS_AMOUNT })
  await on.until(PAYMENT_SENT, 1)
  isOdd = true
  await callRpc(on.rpcUrl, 'dev_dropPending')
  await on.broadcast(await signSend(on.rpcUrl, payer, payer.address))
  await callRpc(on.rpcUrl, 'dev_mine', '25')
  await on.age()
  const result = await on.settleAtLast(body)
  expect(result).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
  expect(await on.balance(payTo)).toBe(0n)
})

describe('a payment that was valid is not refused because a node is behind', () => {
  const WAITING = "settlements WHERE status = 'claimed' AND last_error LIKE '%behind%'"

  /** Waits until the settlement is complete. */
  async function untilNotRefused(on: Awaited<ReturnType<typeof onGaslessChain>>): Promise<void> {
    await on.until("settlements WHERE status IN ('settled', 'failed')", 1)
    expect(await on.count("settlements WHERE status = 'failed'")).toBe(0)
  }

  /** A payer, and a facilitator whose node can fall behind. */
  async function behind({ rememberPayer }: { rememberPayer: boolean }) {
    const node: { stale?: Awaited<ReturnType<typeof startStaleNode>> } = {}
    const on = await onGaslessChain({
      ...SHORT_TIMEOUT,
      async network(rpcUrl) {
        node.stale = await startStaleNode(rpcUrl)
        return { rpcUrls: [node.stale.url] }
      },
    })
    const stale = node.stale!
    if (!rememberPayer) await stale.remember()
    await callRpc(on.rpcUrl, 'dev_mine', '3')
    const payer = await on.newPayer(COSMOS_AMOUNT + COSMOS_FEE)
    if (rememberPayer) await stale.remember()
    return { on, stale, payer }
  }

  /** A payment whose allowance is granted. Since then the node answers `requests` with the state before the grant. */
  async function grantedThenBehind(requests?: (request: number) => boolean) {
    const { on, stale, payer } = await behind({ rememberPayer: true })
    const body = await on.gasless(payer)
    await on.stop()
    const first = on.settle(body)
    await on.until("transactions WHERE is_fee_grant AND status = 'signed' AND accepted_at IS NOT NULL", 1)
    await on.beforeAnyOf(payer, async () => {
      await on.mine()
      await on.until("settlements WHERE status = 'claimed'", 1)
      stale.fallBack(requests)
    })
    expect(await first).toMatchObject({ errorReason: 'settlement_pending' })
    await on.chain.setPace('at-once')
    return { on, stale, body }
  }

  /** The claimed payment waits while the node serves the state before the claim, and succeeds once it catches up. */
  async function claimedThenBehind(
    { on, stale, payer }: Awaited<ReturnType<typeof behind>>,
    body: CosmosRequest,
  ): Promise<void> {
    const answers: Promise<SettleResult>[] = []
    await on.beforeAnyOf(payer, async () => {
      answers.push(on.settle(body))
      await on.until('settlements', 1)
      stale.fallBack()
    })
    await on.until(WAITING, 1)
    stale.catchUp()
    const [first] = await Promise.all(answers)
    if (first?.success) return
    expect(first?.errorReason).toBe('settlement_pending')
    await untilNotRefused(on)
    expect(await on.settleAtLast(body)).toMatchObject({ success: true })
  }

  test.concurrent('once its allowance is granted: it waits, and costs no second one', async () => {
    const { on, stale, body } = await grantedThenBehind()
    await on.until(WAITING, 1)
    expect(await on.count('transactions')).toBe(1)

    stale.catchUp()
    await untilNotRefused(on)
    expect(await on.settleAtLast(body)).toMatchObject({ success: true })
    expect(await on.grants()).toBe(1)
    expect(await on.balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
  })

  test.concurrent.each([0, 1, 2])(
    'if another node behind the same URL answers four requests, from number %i since the grant',
    async (from) => {
      const { on, body } = await grantedThenBehind((request) => request >= from && request < from + 4)
      await untilNotRefused(on)
      expect(await on.settleAtLast(body)).toMatchObject({ success: true })
      expect(await on.grants()).toBe(1)
      expect(await on.balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    },
  )

  test.concurrent.each([
    ['by its payer', { granter: undefined }],
    ['by us', {}],
  ])('once it is claimed, its fee paid %s', async (_, changes) => {
    const { on, stale, payer } = await behind({ rememberPayer: false })
    const body = await on.gasless(payer, changes)
    await claimedThenBehind({ on, stale, payer }, body)
    expect(await on.balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
  })
})
