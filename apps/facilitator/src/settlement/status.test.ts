import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import {
  isInFlightSql,
  isOpenSql,
  isOver,
  isReversedFinalSql,
  openStatuses,
  type SettlementStatus,
} from './status'

let pool: Pool
beforeAll(async () => {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator'), poolSize: 1 })
  closeLater(() => database.close())
  pool = database.pool
})
afterAll(closeAll)

const over: SettlementStatus[] = ['settled', 'failed']
const all = [...openStatuses, ...over].flatMap((status) =>
  [null, 'payment_expired'].map((errorReason) => ({ status, errorReason })),
)

test('the database and the code agree on whether a settlement is over, in every state, with a reason and without', async () => {
  for (const settlement of all) {
    const { rows } = await pool.query<{ isOpen: boolean; isReversedForGood: boolean }>(
      `SELECT ${isOpenSql('s')} AS "isOpen", ${isReversedFinalSql('s')} AS "isReversedForGood"
       FROM (SELECT $1::text AS status, $2::text AS error_reason) AS s`,
      [settlement.status, settlement.errorReason],
    )
    const isOverHere = isOver(settlement)
    expect([settlement, rows]).toEqual([
      settlement,
      [{ isOpen: !isOverHere, isReversedForGood: isOverHere && settlement.status === 'reversed' }],
    ])
  }
  expect(all.filter((one) => !isOver(one)).map(({ status }) => status)).toEqual([
    ...['claimed', 'claimed', 'signed', 'signed'],
    'reversed',
  ])
})

test('on its way is what is open and not claimed only', async () => {
  // Only what failed, or was reversed for good, is ever given a reason.
  for (const { status, errorReason } of all.filter((one) => one.errorReason === null || isOver(one))) {
    const { rows } = await pool.query<{ isOnItsWay: boolean }>(
      `SELECT ${isInFlightSql('s')} AS "isOnItsWay" FROM (SELECT $1::text AS status, $2::text AS error_reason) AS s`,
      [status, errorReason],
    )
    const isOnItsWay = !isOver({ status, errorReason }) && status !== 'claimed'
    expect([status, errorReason, rows]).toEqual([status, errorReason, [{ isOnItsWay }]])
  }
})

test.each([
  ['open', isOpenSql, 'settlements_open_idx'],
  ['reversed for good', isReversedFinalSql, 'settlements_reversed_final_idx'],
])('what is %s is found by an index of few, however much is over', async (_, condition, index) => {
  const session = await pool.connect()
  try {
    await session.query('BEGIN')
    await session.query('SET LOCAL enable_seqscan = off')
    const { rows } = await session.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT * FROM settlements s WHERE ${condition('s')}`,
    )
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(index)
  } finally {
    session.release(true)
  }
})
