import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { cancelFirst } from '../testing/cancel'
import { callRpc, newPayer, transfersFrom } from '../testing/chain'
import { faulty } from '../testing/faulty'
import { SENT } from '../testing/hostile'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, inSeconds, paymentRequest } from '../testing/payment'
import { outbid } from '../testing/third-party'

afterAll(closeAll)

type Paused = Awaited<ReturnType<typeof withManualMining>>

/** Payments whose payers have nothing to do with each other, signed to go, and not mined yet: in batches. */
async function underWay(paused: Paused, count: number) {
  const payers = await Promise.all(Array.from({ length: count }, () => newPayer(paused.rpcUrl)))
  const bodies = await Promise.all(
    payers.map((payer) => paymentRequest(payer, { authorization: { validBefore: inSeconds(40) } })),
  )
  const answers = bodies.map((body) => paused.settle(body))
  await paused.until(SENT, count)
  const { rows } = await paused.pool.query<{ payer: string }>(
    `SELECT payer FROM settlements WHERE transaction_id IN
       (SELECT transaction_id FROM settlements GROUP BY transaction_id HAVING count(*) > 1)`,
  )
  /** One that shares its transaction. */
  const index = payers.findIndex(({ address }) => address === rows[0]?.payer)
  expect(index).toBeGreaterThanOrEqual(0)
  const [payer, body] = [payers[index]!, bodies[index]!]
  const others = payers.flatMap(({ address }, i) => (i === index ? [] : [{ address, answer: answers[i] }]))
  return { payer, body, answer: answers[index], others }
}

async function expectPaidOnce(paused: Paused, { others }: Awaited<ReturnType<typeof underWay>>) {
  for (const { address, answer } of others) {
    expect(await answer).toMatchObject({ success: true, payer: address })
    expect(await transfersFrom(paused.rpcUrl, address)).toMatchObject([{ value: AMOUNT }])
  }
}

test('a payment of a batch that a third party settles in the same block is paid once, by the third party, and the others settle', async () => {
  const paused = await withManualMining()
  const batch = await underWay(paused, 6)
  const theirs = await outbid(paused.rpcUrl, batch.body)
  await paused.mine()
  expect(await batch.answer).toMatchObject({ success: true, transaction: theirs })
  await expectPaidOnce(paused, batch)
  expect(await transfersFrom(paused.rpcUrl, batch.payer.address)).toMatchObject([
    { value: AMOUNT, transaction: theirs },
  ])
  expect(await paused.settle(batch.body)).toMatchObject({ errorReason: 'duplicate_settlement' })
})

test('a batch whose payments a third party settles in the same block is paid once, by the third party', async () => {
  const paused = await withManualMining()
  const payers = await Promise.all(Array.from({ length: 5 }, () => newPayer(paused.rpcUrl)))
  const bodies = await Promise.all(payers.map((payer) => paymentRequest(payer)))
  const answers = bodies.map((body) => paused.settle(body))
  await paused.until(SENT, 5)
  const theirs = await Promise.all(bodies.map((body) => outbid(paused.rpcUrl, body)))
  await paused.mine()
  expect((await Promise.all(answers)).map(({ success, transaction }) => [success, transaction])).toEqual(
    theirs.map((transaction) => [true, transaction]),
  )
  for (const { address } of payers) expect(await transfersFrom(paused.rpcUrl, address)).toHaveLength(1)
})

test('a payment of a batch that is cancelled in the same block fails, and the others settle', async () => {
  const paused = await withManualMining()
  const batch = await underWay(paused, 6)
  await cancelFirst(paused.rpcUrl, batch.payer, batch.body)
  await paused.mine()
  await expectPaidOnce(paused, batch)
  expect(await batch.answer).toMatchObject({
    success: false,
    errorReason: 'invalid_transaction_state',
    transaction: '',
  })
  expect(await transfersFrom(paused.rpcUrl, batch.payer.address)).toEqual([])
})

test('a payment of a batch that burns all gas delays the others, and they settle', async () => {
  const paused = await withManualMining()
  const batch = await underWay(paused, 6)
  // Its payer has handed the account over, since, to code that never ends: the token asks that for the signature.
  await callRpc(paused.rpcUrl, 'anvil_setCode', batch.payer.address, '0x5b5f56')
  await paused.mineUntil("settlements WHERE status = 'settled'", batch.others.length)
  await expectPaidOnce(paused, batch)
  await callRpc(paused.rpcUrl, 'evm_increaseTime', 120)
  await paused.mine()
  expect(await batch.answer).toMatchObject({ success: false, errorReason: 'payment_expired' })
  expect(await transfersFrom(paused.rpcUrl, batch.payer.address)).toEqual([])
})

test('one that burns the gas of a batch with many payments of another payer does not have that one barred', async () => {
  let letGo = () => {}
  const allClaimed = new Promise<void>((resolve) => (letGo = resolve))
  const paused = await withManualMining({
    families: faulty((chain) => ({
      signer: {
        sign: async (transaction) => {
          await allClaimed
          return chain.signer.sign(transaction)
        },
      },
    })),
  })
  const [first, payer, burner] = await Promise.all([1, 2, 3].map(() => newPayer(paused.rpcUrl)))
  const alone = paused.settle(await paymentRequest(first!))
  await paused.until('settlements', 1)
  // First of its batch: what comes after it has no gas.
  const burning = paused.settle(await paymentRequest(burner!))
  await paused.until('settlements', 2)
  const together = [1, 2, 3, 4].map(async () => paused.settle(await paymentRequest(payer!)))
  await paused.until('settlements', 6)
  letGo()
  await paused.until(SENT, 6)
  await callRpc(paused.rpcUrl, 'anvil_setCode', burner!.address, '0x5b5f56')
  await paused.mineUntil("settlements WHERE status = 'settled'", 5)
  await callRpc(paused.rpcUrl, 'evm_increaseTime', 120)
  await paused.mine()
  for (const answer of [alone, ...together]) expect(await answer).toMatchObject({ success: true })
  expect(await burning).toMatchObject({ success: false, errorReason: 'payment_expired' })
})

test('of two equal payments in one batch, of which the payer has the money for one, one is paid and one is not', async () => {
  const paused = await withManualMining({ variables: { SETTLE_TIMEOUT_SECONDS: '2' } })
  const payer = await newPayer(paused.rpcUrl, 2n * AMOUNT)
  const first = await paymentRequest(payer)
  const { payTo } = first.paymentRequirements
  const second = await paymentRequest(payer, { requirements: { payTo } })
  const crowd = await Promise.all(Array.from({ length: 3 }, () => newPayer(paused.rpcUrl)))
  const bodies = [...(await Promise.all(crowd.map((one) => paymentRequest(one)))), first, second]
  const answers = bodies.map((body) => paused.settle(body))
  await paused.until(SENT, bodies.length)
  await callRpc(paused.rpcUrl, 'anvil_dealERC20', payer.address, USDC_ADDRESS, `0x${AMOUNT.toString(16)}`)
  await paused.mineUntil("settlements WHERE status = 'settled'", 4)

  // Some may have been answered before they were mined.
  const results = await Promise.all(
    bodies.map(async (body, index) => {
      const told = await answers[index]!
      return told.errorReason === 'settlement_pending' ? paused.settle(body) : told
    }),
  )
  expect(results.slice(0, 3).map(({ success }) => success)).toEqual([true, true, true])
  expect(results.slice(3).filter(({ success }) => success)).toHaveLength(1)
  const [paid, unpaid] = results[3]!.success ? [first, second] : [second, first]
  expect(await paused.settle(paid)).toMatchObject({ errorReason: 'duplicate_settlement' })
  expect(await paused.settle(unpaid)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  expect(await transfersFrom(paused.rpcUrl, payer.address)).toHaveLength(1)
})
