import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { whileBlocked } from '../../testing/row-locks'
import { settlementRows } from '../../testing/settlement-rows'
import { createReorgStore, type ReorgStore } from './reorg-store'

let pool: Pool
let rows: ReturnType<typeof settlementRows>
let client: string
let store: ReorgStore
beforeAll(async () => {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator') })
  closeLater(database.close)
  pool = database.pool
  rows = settlementRows(pool)
  await rows.asset()
  client = await rows.client(await rows.user('shop@example.com'))
  store = createReorgStore(pool)
})
afterAll(closeAll)

type Row = NonNullable<Parameters<typeof rows.settlement>[1]>

/** A mined transaction with settlements that bear 100 of its fee each. */
async function mined(...settlements: (Row & { isDetached?: boolean })[]) {
  const id = await rows.transaction({ status: 'mined' })
  const ids: bigint[] = []
  for (const { isDetached = false, ...row } of settlements) {
    const settlement = await rows.settlement(client, {
      ...row,
      fee: '130',
      ...(isDetached ? {} : { transactionId: id }),
    })
    await rows.charge(id, settlement, '100')
    ids.push(settlement)
  }
  const { rows: blocks } = await pool.query<{ number: bigint; hash: string }>(
    'SELECT block_number AS number, block_hash AS hash FROM transactions WHERE id = $1',
    [id],
  )
  return { id, ids, block: blocks[0]! }
}

const settlement = async (id: bigint) =>
  (
    await pool.query<Record<string, unknown>>(
      `SELECT status, transaction_id AS "transactionId", transfer, fee, error_reason AS reason,
         (SELECT count(*) FROM fee_allocations a WHERE a.settlement_id = settlements.id) AS allocations
       FROM settlements WHERE id = $1`,
      [id],
    )
  ).rows[0]!

const errorReason = 'invalid_transaction_state'

test('a dropped transaction reverses what it settled, reopens what failed, and takes its fees back', async () => {
  const { id, ids, block } = await mined(
    { status: 'settled' },
    { status: 'failed', errorReason },
    { status: 'reversed', errorReason },
    { status: 'failed', errorReason, isDetached: true },
    { status: 'claimed', isDetached: true },
  )
  const [settled, failed, final, failedAfterwards, claimed] = ids as [bigint, bigint, bigint, bigint, bigint]
  await pool.query("UPDATE settlements SET transfer = '0' WHERE id = $1", [settled])
  expect(await store.reverse(id, block)).toEqual({
    reversed: [settled],
    reopened: [failed, final, failedAfterwards],
  })
  const open = { transactionId: id, transfer: null, fee: '30', reason: null, allocations: 0n }
  expect(await Promise.all(ids.map(settlement))).toEqual([
    { ...open, status: 'reversed' },
    { ...open, status: 'signed' },
    { ...open, status: 'reversed' },
    { ...open, status: 'signed' },
    { ...open, status: 'claimed', transactionId: null },
  ])
  expect(await settlement(claimed)).toMatchObject({ status: 'claimed' })
  const transaction = await pool.query(
    'SELECT status, fee, block_hash AS block FROM transactions WHERE id = $1',
    [id],
  )
  expect(transaction.rows).toEqual([{ status: 'signed', fee: null, block: null }])
  expect(await store.reverse(id, block)).toEqual({ reversed: [], reopened: [] })
})

test('what a third party settled since stays settled', async () => {
  const { id, ids, block } = await mined({ status: 'settled', transactionHash: `0x${'ee'.repeat(32)}` })
  expect(await store.reverse(id, block)).toEqual({ reversed: [], reopened: [] })
  expect(await settlement(ids[0]!)).toMatchObject({ status: 'settled', fee: '30', allocations: 0n })
})

test('a final transaction is not reversed', async () => {
  const { id, ids, block } = await mined({ status: 'settled' })
  await pool.query("UPDATE transactions SET status = 'final' WHERE id = $1", [id])
  expect(await store.reverse(id, block)).toEqual({ reversed: [], reopened: [] })
  expect(await settlement(ids[0]!)).toMatchObject({ status: 'settled', fee: '130', allocations: 1n })
})

test('a transaction that was mined again since, in another block, is not reversed', async () => {
  const { id, ids, block } = await mined({ status: 'settled' })
  const dropped = { number: block.number - 1n, hash: `0x${'dd'.repeat(32)}` }
  expect(await store.reverse(id, dropped)).toEqual({ reversed: [], reopened: [] })
  expect(await settlement(ids[0]!)).toMatchObject({ status: 'settled' })
  expect(await store.reverse(id, block)).toEqual({ reversed: ids, reopened: [] })
})

test('a reopened payment keeps no detail of its failure', async () => {
  const { id, ids, block } = await mined({ status: 'failed', errorReason })
  await pool.query("UPDATE settlements SET error_detail = 'it reverted' WHERE id = $1", [ids[0]])
  expect(await store.reverse(id, block)).toEqual({ reversed: [], reopened: ids })
  const { rows: details } = await pool.query('SELECT error_detail AS detail FROM settlements WHERE id = $1', [
    ids[0],
  ])
  expect(details).toEqual([{ detail: null }])
})

test('a payment that a third party settled again since, in another block, is not reclaimed', async () => {
  const hash = `0x${'ab'.repeat(32)}`
  const id = await rows.settlement(client, { status: 'settled', transactionHash: hash })
  expect(await store.reclaim({ id, hash, blockNumber: 16n })).toBe(false)
  expect(await settlement(id)).toMatchObject({ status: 'settled' })
  expect(await store.reclaim({ id, hash, blockNumber: 17n })).toBe(true)
})

test('a payment that is claimed again meanwhile is neither reversed nor reopened', async () => {
  const { id, ids, block } = await mined({ status: 'failed', errorReason })
  const reversal = await whileBlocked(
    pool,
    (session) =>
      session.query(
        `UPDATE settlements SET status = 'claimed', error_reason = NULL, transaction_id = NULL WHERE id = $1`,
        [ids[0]],
      ),
    () => store.reverse(id, block),
  )
  expect(reversal).toEqual({ reversed: [], reopened: [] })
  expect(await settlement(ids[0]!)).toMatchObject({ status: 'claimed', transactionId: null, fee: '30' })
})

test('settlements are locked in the order of their ids', async () => {
  const { id, ids, block } = await mined({ status: 'settled' }, { status: 'settled' })
  const [low, high] = ids as [bigint, bigint]
  await pool.query('UPDATE settlements SET updated_at = now() WHERE id = $1', [low])
  // Of so few rows Postgres then scans the table, where the first by id comes last.
  await pool.query('ANALYZE settlements')
  const lock = 'SELECT FROM settlements WHERE id = $1 FOR UPDATE'
  const reversal = await whileBlocked(
    pool,
    (session) => session.query(lock, [low]),
    () => store.reverse(id, block),
    (session) => session.query(lock, [high]),
  )
  expect(reversal).toEqual({ reversed: ids, reopened: [] })
})
