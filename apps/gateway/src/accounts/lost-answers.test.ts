import { openGatewayDatabase, QUERY_TIMEOUT_MS } from '@tollgate/database'
import { closeAll, closeLater } from '@tollgate/testing'
import { findViolations } from '../testing/accounts'
import { endingOf, times, openLedgers, type TestLedgers } from '../testing/ledgers'
import { startTcpProxy } from '../testing/tcp-proxy'
import { createLedger, type Ledger } from './ledger'

let { ledgers, pool, spender, usageOf, ageReserved } = {} as TestLedgers
let proxy: Awaited<ReturnType<typeof startTcpProxy>>
let ledger: Ledger
beforeAll(async () => {
  const opened = await openLedgers()
  ;({ ledgers, pool, spender, usageOf, ageReserved } = opened)
  proxy = await startTcpProxy(opened.url)
  const database = openGatewayDatabase({ url: proxy.url, poolSize: 1 })
  closeLater(() => database.close())
  ledger = createLedger(database)
})
beforeEach(() => ledger.sendHeartbeat())
afterEach(async () => expect(await findViolations(pool)).toEqual([]))
afterAll(closeAll)

const notKnown = expect.objectContaining({
  code: 'UNAVAILABLE',
  status: 503,
  retryAfterSeconds: expect.any(Number) as number,
  message: expect.stringContaining('given back within a minute') as string,
}) as unknown

test('calls charged by a commit whose result was lost are refunded once, by the replica that lost it', async () => {
  const { wallet, call, paid, balance } = await spender(100)
  const known = await paid(ledger)
  const isCut = proxy.cut('response')
  const ends = await Promise.allSettled(times(10, () => ledger.spend(call())))
  await isCut
  expect(ends).toEqual(times(10, () => ({ status: 'rejected', reason: notKnown })))
  // Postgres committed once; nothing was retried.
  expect(await balance()).toBe(89n)
  expect(await usageOf(wallet)).toHaveLength(11)

  expect(await ledger.refundOrphans()).toBe(0)
  await ageReserved(31)
  expect(await ledgers[0].refundOrphans()).toBe(0)
  const refunded = await Promise.all(times(5, () => ledger.refundOrphans()))
  expect(refunded.reduce((sum, count) => sum + count)).toBe(10)
  expect(await balance()).toBe(99n)
  const [first, ...others] = await usageOf(wallet)
  expect(first).toMatchObject({ id: known, state: 'reserved' })
  expect(others).toEqual(
    times(10, () => expect.objectContaining({ state: 'refunded', outcome: 'unconfirmed' }) as unknown),
  )
  expect(await ledger.finish(endingOf(known))).toBe(true)
})

test('a call is not an orphan because an older batch began before it', async () => {
  const { paid } = await spender(10)
  const usageId = await paid(ledger)
  const isCut = proxy.cut('response')
  await expect(paid(ledger)).rejects.toThrow()
  await isCut
  await pool.query(
    "UPDATE reservations SET last_call = last_call + 1, created_at = now() - INTERVAL '1 hour' WHERE first_call = $1",
    [usageId],
  )
  expect(await ledger.refundOrphans()).toBe(0)
  await ageReserved(60)
  expect(await ledger.refundOrphans()).toBe(1)
})

test('a call is not an orphan while the result of its charge can still arrive', async () => {
  const { call, balance } = await spender(10)
  const isCut = proxy.cut('response')
  await expect(ledger.spend(call())).rejects.toEqual(notKnown)
  await isCut
  // The statement started after it was sent, and its result arrives a moment after the commit.
  await ageReserved(QUERY_TIMEOUT_MS / 1000 + 5)
  expect(await ledger.refundOrphans()).toBe(0)
  await ageReserved(10)
  expect(await ledger.refundOrphans()).toBe(1)
  expect(await balance()).toBe(10n)
})

test('calls whose connection broke before Postgres got them cost nothing, and later calls work', async () => {
  const { wallet, call, paid, balance } = await spender(10)
  const isCut = proxy.cut('request')
  await expect(ledger.spend(call())).rejects.toEqual(notKnown)
  await isCut
  expect(await balance()).toBe(10n)
  expect(await usageOf(wallet)).toEqual([])
  await paid(ledger)
  expect(await balance()).toBe(9n)
})

test.each(['done', 'refunded'] as const)(
  'a call that is %s stays so if the result of its ending was lost',
  async (state) => {
    const { wallet, paid, balance } = await spender(10)
    const usageId = await paid(ledger)
    const isCut = proxy.cut('response')
    await expect(ledger.finish(endingOf(usageId, state))).rejects.toThrow()
    await isCut
    await ledger.finishUnwritten()
    expect(await usageOf(wallet)).toEqual([expect.objectContaining({ state })])
    expect(await balance()).toBe(state === 'done' ? 9n : 10n)
  },
)
