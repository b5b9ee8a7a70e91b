import { setTimeout as delay } from 'node:timers/promises'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { type Pool } from '@tollgate/database'
import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { ADMIN_TOKEN, assign, newAccount } from '../testing/accounts'
import { aheadOfOurs, cancelFirst, cancellation } from '../testing/cancel'
import { callRpc, newPayer, transactionCount, transfersFrom } from '../testing/chain'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, inSeconds, paymentRequest, type Payer } from '../testing/payment'
import { newSender, rawOf, transfer } from '../testing/raw-transfer'
import { outbid } from '../testing/third-party'

afterAll(closeAll)

test.concurrent('a settlement that a reorg leaves mined but reverted is reversed, and charged the fee of the reverted transaction', async () => {
  const { rpcUrl, pool, settle, mine, until, onTheirWay } = await withManualMining()
  const payer = await newSender(rpcUrl)
  await mine()
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const settling = settle(body)
  await onTheirWay(1)
  await mine()
  expect(await settling).toMatchObject({ success: true })

  const { rows } = await pool.query<{ raw: string; hash: string }>('SELECT raw, hash FROM transactions')
  const [{ raw, hash }] = rows as [{ raw: string; hash: string }]
  const drain = rawOf(payer, { data: transfer(Wallet.createRandom().address, 1_000_000_000n) })
  const block = [
    [drain, 0],
    [raw, 0],
  ]
  await callRpc(rpcUrl, 'anvil_reorg', 1, block)
  expect(await callRpc(rpcUrl, 'eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x0' })
  // It may be settled yet: its payer could have money again.
  await until("settlements WHERE status = 'claimed' AND attempts = 1 AND success_reported_at IS NOT NULL", 1)
  const charged = await pool.query<{ exact: boolean }>(
    'SELECT t.fee = s.fee AS exact FROM transactions t, settlements s',
  )
  expect(charged.rows).toEqual([{ exact: true }])
  await callRpc(rpcUrl, 'evm_increaseTime', 700)
  await mine()
  await until("settlements WHERE status = 'reversed' AND error_reason = 'payment_expired'", 1)
})

test.concurrent('a batch with one failed payment is reversed as a whole, and its nonces and fees stay correct', async () => {
  const { rpcUrl, signer, pool, settle, mine, mineUntil, until, onTheirWay } = await withManualMining()
  const payers = await Promise.all(Array.from({ length: 6 }, () => newPayer(rpcUrl)))
  const bodies = await Promise.all(
    payers.map((payer) => paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })),
  )
  await mine()
  const answers = Promise.all(bodies.map((body) => settle(body)))
  await onTheirWay(6)
  const { rows } = await pool.query<{ payer: string }>(
    `SELECT payer FROM settlements WHERE transaction_id IN
       (SELECT transaction_id FROM settlements GROUP BY transaction_id HAVING count(*) > 1) LIMIT 1`,
  )
  const poor = rows[0]?.payer ?? ''
  await callRpc(rpcUrl, 'anvil_dealERC20', poor, USDC_ADDRESS, '0x0')
  await mine()
  await until("settlements WHERE status = 'settled'", 5)
  await until("settlements WHERE status = 'claimed' AND attempts = 1", 1)

  await callRpc(rpcUrl, 'anvil_reorg', 2, [])
  await until("settlements WHERE status = 'reversed'", 5)
  // The reorg gave the poor one its money back.
  await mineUntil("settlements WHERE status = 'settled'", 6)
  await answers
  const { rows: books } = await pool.query<{ charged: string; paid: string }>(
    `SELECT (SELECT sum(fee)::text FROM settlements) AS charged, (SELECT sum(fee)::text FROM transactions) AS paid`,
  )
  expect(books[0]?.charged).toBe(books[0]?.paid)
  for (const { address } of payers) expect(await transfersFrom(rpcUrl, address)).toHaveLength(1)

  const later = settle(await paymentRequest(await newPayer(rpcUrl)))
  await onTheirWay(1)
  await mine()
  expect(await later).toMatchObject({ success: true })
  expect(await transactionCount(rpcUrl, signer.address)).toBe(Number(await transactionsOf(pool)))
})

test.concurrent('a reversed payment counts against the balance of its payer until it is settled again', async () => {
  const { rpcUrl, signer, settle, mine, until, onTheirWay } = await withManualMining()
  const payer = await newPayer(rpcUrl)
  await callRpc(rpcUrl, 'anvil_dealERC20', payer.address, USDC_ADDRESS, `0x${AMOUNT.toString(16)}`)
  await mine()
  const settling = settle(await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } }))
  await onTheirWay(1)
  await mine()
  expect(await settling).toMatchObject({ success: true })
  await callRpc(rpcUrl, 'anvil_reorg', 1, [])
  await until("settlements WHERE status = 'reversed'", 1)

  const other = settle(await paymentRequest(payer))
  await until("settlements WHERE last_error = 'waits for other payments of its payer'", 1)
  await until('transactions WHERE accepted_at IS NOT NULL', 1)
  await mine()
  expect(await other).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
  await until("settlements WHERE status = 'settled'", 1)
  expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
})

test.concurrent('a payment that failed in a block that a reorg drops is settled if its transaction then settles it', async () => {
  const { rpcUrl, log, settle, mine, until, onTheirWay } = await withManualMining()
  const payer = await newPayer(rpcUrl)
  await mine()
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const settling = settle(body)
  await onTheirWay(1)
  await cancelFirst(rpcUrl, payer, body)
  await mine()
  expect(await settling).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })

  await callRpc(rpcUrl, 'anvil_reorg', 1, [])
  await log.line('reorg reopened settlements')
  await onTheirWay(1)
  await mine()
  await until("settlements WHERE status = 'settled'", 1)
  expect(await settle(body)).toMatchObject({ success: true })
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})

test.concurrent('a payment that failed after its transaction reverted is settled if a reorg drops both and its transaction then settles it', async () => {
  const { rpcUrl, pool, settle, mine, until, onTheirWay } = await withManualMining()
  const payer = await newSender(rpcUrl)
  await mine()
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const settling = settle(body)
  await onTheirWay(1)
  const send = (nonce: number, data: string) =>
    callRpc(
      rpcUrl,
      'eth_sendRawTransaction',
      rawOf(payer, { nonce, data, gasLimit: 200_000, ...aheadOfOurs }),
    )
  await send(0, transfer(Wallet.createRandom().address, 1_000_000_000n))
  await mine()
  await until("settlements WHERE status = 'claimed' AND attempts = 1", 1)
  await send(1, await cancellation(payer, body))
  await mine()
  expect(await settling).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })

  await callRpc(rpcUrl, 'anvil_reorg', 2, [])
  await until("settlements WHERE status = 'signed'", 1)
  await until('transactions WHERE accepted_at IS NOT NULL', 1)
  await mine()
  await until("settlements WHERE status = 'settled'", 1)
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  const { rows } = await pool.query('SELECT s.fee = t.fee AS exact FROM settlements s, transactions t')
  expect(rows).toEqual([{ exact: true }])
})

test.concurrent('a nonce lost to another transaction is reused once a reorg drops that transaction', async () => {
  const { rpcUrl, signer, settle, mine, until } = await withManualMining()
  await mine()
  const authorization = { validBefore: inSeconds(600) }
  const settling = settle(await paymentRequest(await newPayer(rpcUrl), { authorization }))
  await until("transactions WHERE status = 'signed' AND accepted_at IS NOT NULL", 1)
  await callRpc(
    rpcUrl,
    'eth_sendRawTransaction',
    rawOf(signer, { to: signer.address, data: '0x', ...aheadOfOurs }),
  )
  await mine()
  await until("transactions WHERE status = 'superseded'", 1)
  await until("transactions WHERE status = 'signed' AND accepted_at IS NOT NULL", 1)
  await mine()
  expect(await settling).toMatchObject({ success: true })

  await callRpc(rpcUrl, 'anvil_reorg', 2, [])
  await until("settlements WHERE status = 'reversed'", 1)
  const later = settle(await paymentRequest(await newPayer(rpcUrl), { authorization }))
  await until("transactions WHERE status = 'signed' AND nonce = 0 AND accepted_at IS NOT NULL", 1)
  await until("transactions WHERE status = 'signed' AND nonce = 1 AND accepted_at IS NOT NULL", 1)
  await mine()
  expect(await later).toMatchObject({ success: true })
  await until("settlements WHERE status = 'settled'", 2)
  expect(await transactionCount(rpcUrl, signer.address)).toBe(2)
})

test.concurrent('a payment whose third-party settlement is dropped by a reorg is settled again', async () => {
  const { rpcUrl, pool, log, settle, mine, until, onTheirWay } = await withManualMining()
  const payer = await newPayer(rpcUrl)
  await mine()
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const settling = settle(body)
  await onTheirWay(1)
  const theirs = await outbid(rpcUrl, body)
  await mine()
  expect(await settling).toMatchObject({ success: true, transaction: theirs })

  await callRpc(rpcUrl, 'anvil_reorg', 1, [])
  await log.line('reorg dropped transaction')
  await onTheirWay(1)
  // The payment may be sent again after any of these blocks.
  const over = new AbortController()
  const settled = until("settlements WHERE status = 'settled'", 1).finally(() => over.abort())
  while (!over.signal.aborted) {
    await mine()
    await delay(200)
  }
  await settled
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  const { rows } = await pool.query<{ hash: string }>('SELECT transaction_hash AS hash FROM settlements')
  expect(rows).not.toEqual([{ hash: theirs }])
})

test.concurrent('a transfer that takes the place of another one of its payer, after a reorg, is credited', async () => {
  const { rpcUrl, pool, log, settle, mine, until, onTheirWay } = await withManualMining()
  const payer = await newPayer(rpcUrl)
  await mine()
  const [brief, long] = [
    await paymentRequest(payer, { authorization: { validBefore: inSeconds(300) } }),
    await paymentRequest(payer, { authorization: { validBefore: inSeconds(900) } }),
  ]
  const [first, second] = await inOneTransaction(pool, payer, async () => {
    const one = settle(brief)
    await until('settlements', 1)
    const other = settle(long)
    await until('settlements', 2)
    return [one, other] as const
  })
  await onTheirWay(2)
  await mine()
  const hash = (await first).transaction
  expect(await second).toMatchObject({ success: true, transaction: hash })
  expect(await placesOf(pool)).toEqual(['0', '1'])

  await callRpc(rpcUrl, 'anvil_reorg', 1, [])
  await callRpc(rpcUrl, 'evm_increaseTime', 400)
  await mine()
  await log.line('reorg dropped transaction')
  await until("settlements WHERE status = 'reversed' AND error_reason = 'payment_expired'", 1)
  await until('transactions WHERE accepted_at IS NOT NULL', 1)
  await mine()
  await until("settlements WHERE status = 'settled'", 1)
  expect(await placesOf(pool)).toEqual([null, '0'])
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})

describe.each([
  ['we send again', false],
  ['a stranger sends', true],
])('a payment that a reorg reverses, and that %s,', (_, isByStranger) => {
  test.concurrent('is credited once', async () => {
    const { rpcUrl, facilitator, until, mine, onTheirWay } = await withManualMining({
      variables: { ADMIN_TOKEN },
    })
    const payer = await newPayer(rpcUrl)
    await mine()
    const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
    const shop = await newAccount(facilitator.api)
    await assign(facilitator, shop, body.paymentRequirements.payTo).expect(200)
    const [key, other] = [await shop.newKey(), await shop.newKey()]
    const settle = async (headers: Record<string, string>) =>
      (await facilitator.api.post('/api/v1/settle').set(headers).send(body).expect(200)).body as SettleResult
    const settling = settle(key)
    await onTheirWay(1)
    await mine()
    const { success, transaction: ours } = await settling
    expect(success).toBe(true)

    await callRpc(rpcUrl, 'anvil_reorg', 1, [])
    const theirs = isByStranger ? await outbid(rpcUrl, body) : undefined
    await until("settlements WHERE status = 'reversed'", 1)
    await until('transactions WHERE accepted_at IS NOT NULL', 1)
    await mine()
    await until("settlements WHERE status = 'settled'", 1)
    const { rows } = await facilitator.database.pool.query('SELECT transaction_hash AS hash FROM settlements')
    expect(rows).toEqual([{ hash: theirs ?? ours }])
    const repeated = { success: false, errorReason: 'duplicate_settlement' }
    expect(await Promise.all([settle(key), settle(other)])).toEqual([
      expect.objectContaining(repeated),
      expect.objectContaining(repeated),
    ])
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })
})

/** Claims payments of the payer while no signing round may take them. */
async function inOneTransaction<T>(pool: Pool, { address }: Payer, claim: () => Promise<T>): Promise<T> {
  const session = await pool.connect()
  const lock = (of: string) =>
    session.query(
      `SELECT ${of}(hashtextextended(concat_ws(' ', 'payer', 'base-sepolia', $1::text, $2::text), 0))`,
      [USDC_ADDRESS, address],
    )
  try {
    await lock('pg_advisory_lock')
    return await claim()
  } finally {
    await lock('pg_advisory_unlock')
    session.release()
  }
}

const placesOf = async (pool: Pool) =>
  (await pool.query<{ transfer: string | null }>('SELECT transfer FROM settlements ORDER BY id')).rows.map(
    ({ transfer }) => transfer,
  )

const transactionsOf = async (pool: { query(text: string): Promise<{ rows: unknown[] }> }) => {
  const { rows } = await pool.query('SELECT count(*) FROM transactions')
  return (rows[0] as { count: bigint }).count
}
