import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { isOnItsWaySql, isOpenSql, isOver, isReversedForGoodSql, openStates, type State } from './state'

let pool: Pool
beforeAll(async () => {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator'), poolSize: 1 })
  closeLater(() => database.close())
  pool = database.pool
})
afterAll(closeAll)

const over: State[] = ['settled', 'failed']
const all = [...openStates, ...over].flatMap((status) =>
  [null, 'payment_expired'].map((errorReason) => ({ status, errorReason })),
)

test('whether a settlement is over is told alike by the database and here, in every state, with a reason and without', async () => {
  for (const settlement of all) {
    const { rows } = await pool.query<{ isOpen: boolean; isReversedForGood: boolean }>(
      `select ${isOpenSql('s')} as "isOpen", ${isReversedForGoodSql('s')} as "isReversedForGood"
       from (select $1::text as status, $2::text as error_reason) as s`,
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
      `select ${isOnItsWaySql('s')} as "isOnItsWay" from (select $1::text as status, $2::text as error_reason) as s`,
      [status, errorReason],
    )
    const isOnItsWay = !isOver({ status, errorReason }) && status !== 'claimed'
    expect([status, errorReason, rows]).toEqual([status, errorReason, [{ isOnItsWay }]])
  }
})

test.each([
  ['open', isOpenSql, 'settlements_open_idx'],
  ['reversed for good', isReversedForGoodSql, 'settlements_on_their_way_idx'],
])('what is %s is found by an index of few, however much is over', async (_, condition, index) => {
  const session = await pool.connect()
  try {
    await session.query('begin')
    await session.query('set local enable_seqscan = off')
    const { rows } = await session.query<{ 'QUERY PLAN': string }>(
      `explain select * from settlements s where ${condition('s')}`,
    )
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(index)
  } finally {
    session.release(true)
  }
})
