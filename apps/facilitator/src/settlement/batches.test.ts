import { ChainUnavailable } from '@tollgate/chains'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { callRpc, newPayer, transactionCount, transfersFrom } from '../testing/chain'
import { faulty } from '../testing/faulty'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, inSeconds, paymentRequest } from '../testing/payment'
import { outbid } from '../testing/third-party'

afterAll(closeAll)

const drain = (rpcUrl: string, address: string) =>
  callRpc(rpcUrl, 'anvil_dealERC20', address, USDC_ADDRESS, '0x0')

/** As many payers as told, and a payment of each to one recipient of its own. */
async function payments(rpcUrl: string, count: number) {
  const payers = await Promise.all(Array.from({ length: count }, () => newPayer(rpcUrl)))
  return Promise.all(payers.map(async (payer) => ({ payer, body: await paymentRequest(payer) })))
}

test('payments that wait together go in few transactions, each with a transfer and a share of the fee of its own', async () => {
  const { rpcUrl, signer, pool, settle, mine, onTheirWay } = await withManualMining()
  const due = await payments(rpcUrl, 40)
  const answers = Promise.all(due.map(({ body }) => settle(body)))
  await onTheirWay(40)
  await mine()

  const results = await answers
  expect(results.filter(({ success }) => success)).toHaveLength(40)
  for (const [index, { payer }] of due.entries())
    expect(await transfersFrom(rpcUrl, payer.address)).toMatchObject([
      { value: AMOUNT, transaction: results[index]?.transaction },
    ])
  expect(await transactionCount(rpcUrl, signer.address)).toBeLessThan(20)
  const { rows } = await pool.query(
    `SELECT t.fee = sum(s.fee) AS exact, max(s.fee) - min(s.fee) <= 1 AS equal
     FROM settlements s JOIN transactions t ON t.id = s.transaction_id GROUP BY t.id`,
  )
  for (const row of rows) expect(row).toEqual({ exact: true, equal: true })
})

test('payments of one payer beyond its balance cost no gas: nothing that reverts is sent', async () => {
  const { rpcUrl, signer, pool, settle, until, mine, onTheirWay } = await withManualMining()
  const payer = await newPayer(rpcUrl, 3n * AMOUNT)
  const bodies = await Promise.all(Array.from({ length: 12 }, () => paymentRequest(payer)))
  const answers = Promise.all(bodies.map((body) => settle(body)))
  await onTheirWay(3)
  await mine()
  await until("settlements WHERE status = 'settled'", 3)

  const results = await answers
  expect(results.filter(({ success }) => success)).toHaveLength(3)
  expect(results.map(({ errorReason }) => errorReason).sort()).toEqual([
    ...Array<string>(3).fill(''),
    ...Array<string>(9).fill('insufficient_funds'),
  ])
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(3)
  const { rows } = await pool.query<{ count: bigint }>('SELECT count(*) FROM transactions')
  expect(BigInt(await transactionCount(rpcUrl, signer.address))).toBe(rows[0]?.count)
  const reverted = await pool.query(
    "SELECT FROM settlements WHERE status = 'failed' AND transaction_hash IS NOT NULL",
  )
  expect(reverted.rowCount).toBe(0)
})

test('a payment that fails when its batch is mined leaves the others settled, and fails only once it cannot be settled any more', async () => {
  const { rpcUrl, pool, settle, until, mine, onTheirWay } = await withManualMining()
  const [bad, ...good] = await payments(rpcUrl, 5)
  const body = await paymentRequest(bad!.payer, { authorization: { validBefore: inSeconds(20) } })
  const answers = Promise.all(good.map((one) => settle(one.body)))
  const failing = settle(body)
  await onTheirWay(5)
  await drain(rpcUrl, bad!.payer.address)
  await mine()
  expect((await answers).map(({ success }) => success)).toEqual([true, true, true, true])

  await until("settlements WHERE status = 'claimed' AND attempts = 1", 1)
  await callRpc(rpcUrl, 'evm_increaseTime', 60)
  await mine()
  expect(await failing).toMatchObject({ success: false, errorReason: 'payment_expired' })
  expect(await transfersFrom(rpcUrl, bad!.payer.address)).toEqual([])
  const { rowCount } = await pool.query("SELECT FROM settlements WHERE status = 'settled'")
  expect(rowCount).toBe(4)
})

test('a payment that failed in a batch and may still be settled is sent again alone', async () => {
  const { rpcUrl, signer, settle, until, mine, onTheirWay } = await withManualMining()
  const [unlucky, ...others] = await payments(rpcUrl, 3)
  const answers = Promise.all([unlucky!, ...others].map(({ body }) => settle(body)))
  await onTheirWay(3)
  const sent = await transactionsOf(rpcUrl, signer.address)
  await drain(rpcUrl, unlucky!.payer.address)
  await mine()
  await until('settlements WHERE attempts = 1', 1)
  await callRpc(rpcUrl, 'anvil_dealERC20', unlucky!.payer.address, USDC_ADDRESS, `0x${AMOUNT.toString(16)}`)
  await onTheirWay(1)
  await mine()
  expect((await answers).map(({ success }) => success)).toEqual([true, true, true])
  expect(await transfersFrom(rpcUrl, unlucky!.payer.address)).toHaveLength(1)
  expect(await transactionsOf(rpcUrl, signer.address)).toBe(sent + 1)
})

/** How many transactions of this address the node has, those included that wait. */
const transactionsOf = async (rpcUrl: string, address: string): Promise<number> =>
  Number(await callRpc(rpcUrl, 'eth_getTransactionCount', address, 'pending'))

test('hundreds of claims that wait for their payer delay no other payment', async () => {
  const { rpcUrl, signer, settle, count, until, mine, onTheirWay } = await withManualMining({
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
  })
  const greedy = await newPayer(rpcUrl, AMOUNT)
  const claimed = await Promise.all(
    Array.from({ length: 250 }, async () => settle(await paymentRequest(greedy))),
  )
  expect(new Set(claimed.map(({ errorReason }) => errorReason))).toEqual(new Set(['settlement_pending']))
  await onTheirWay(1)
  expect(await count("settlements WHERE status = 'claimed'")).toBe(249)

  const honest = settle(await paymentRequest(await newPayer(rpcUrl)))
  await onTheirWay(2)
  await mine()
  await until("settlements WHERE status = 'settled'", 2)
  await honest
  expect(await transactionCount(rpcUrl, signer.address)).toBe(2)
})

test('a gap in the nonces, left by a node that once returned too high a nonce, is filled by the next payment', async () => {
  let added = 2n
  const { rpcUrl, signer, settle, mine, onTheirWay } = await withManualMining({
    families: faulty((chain) => ({
      signer: {
        async nextNonce(address) {
          const nonce = (await chain.signer.nextNonce(address)) + added
          added = 0n
          return nonce
        },
      },
    })),
  })
  const payers = await Promise.all([1, 2, 3].map(() => newPayer(rpcUrl)))
  const answers = []
  for (const [index, payer] of payers.entries()) {
    answers.push(settle(await paymentRequest(payer)))
    await onTheirWay(index + 1)
  }
  await mine()
  expect((await Promise.all(answers)).map(({ success }) => success)).toEqual([true, true, true])
  expect(await transactionCount(rpcUrl, signer.address)).toBe(3)
})

test('a payment of unknown status blocks no other and no nonce, and ends once its status is known', async () => {
  let isUntold = true
  const { rpcUrl, settle, mine, until, onTheirWay } = await withManualMining({
    families: faulty((chain) => ({
      payments: {
        paymentStatus: (...payment) =>
          isUntold
            ? Promise.reject(new ChainUnavailable('the answer is too long'))
            : chain.payments.paymentStatus(...payment),
      },
    })),
  })
  const due = await payments(rpcUrl, 7)
  // The first goes alone, the others together.
  const first = settle(due[0]!.body)
  await onTheirWay(1)
  const others = due.slice(1).map(({ body }) => settle(body))
  await onTheirWay(7)
  const [overtaken, poor] = [due[0]!, due.at(-1)!]
  await outbid(rpcUrl, overtaken.body)
  await drain(rpcUrl, poor.payer.address)
  await mine()
  for (const answer of others.slice(0, -1)) expect(await answer).toMatchObject({ success: true })
  await until("settlements WHERE status = 'claimed' AND last_error = 'the answer is too long'", 2)
  await until("transactions WHERE status = 'signed'", 0)

  const authorization = { validBefore: inSeconds(3_600) }
  const next = settle(await paymentRequest(overtaken.payer, { authorization }))
  await onTheirWay(1)
  await mine()
  expect(await next).toMatchObject({ success: true })

  isUntold = false
  await callRpc(rpcUrl, 'evm_increaseTime', 120)
  await mine()
  expect(await first).toMatchObject({ success: true })
  expect(await others.at(-1)).toMatchObject({ success: false, errorReason: 'payment_expired' })
  expect(await transfersFrom(rpcUrl, overtaken.payer.address)).toHaveLength(2)
  expect(await transfersFrom(rpcUrl, poor.payer.address)).toEqual([])
})
