import { openGatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater } from '@tollgate/testing'
import { findViolations } from '../testing/accounts'
import { endingOf, times, openLedgers, type TestLedgers } from '../testing/ledgers'
import { startTcpProxy } from '../testing/tcp-proxy'
import { createLedger, type Ledger } from './ledger'

let { url, ledgers, pool, spender, usageOf } = {} as TestLedgers
let proxy: Awaited<ReturnType<typeof startTcpProxy>>
let ledger: Ledger
const clocks = { monotonic: 0, wall: 0 }
beforeAll(async () => {
  ;({ url, ledgers, pool, spender, usageOf } = await openLedgers())
  proxy = await startTcpProxy(url)
  const database = openGatewayDatabase({ url: proxy.url, poolSize: 2 })
  closeLater(() => database.close())
  ledger = createLedger(database, {
    monotonicMs: () => performance.now() + clocks.monotonic,
    wallMs: () => Date.now() + clocks.wall,
  })
})
beforeEach(() => ledger.sendHeartbeat())
afterEach(async () => {
  await ledger.drain()
  expect(await findViolations(pool)).toEqual([])
})
afterAll(closeAll)

const silent = () =>
  pool.query("UPDATE replicas SET heartbeat_at = now() - INTERVAL '25 seconds' WHERE id = $1", [
    ledger.replicaId,
  ])
const done = (usageId: bigint) => ({ ...endingOf(usageId), state: 'done' as const })

describe('a paid call', () => {
  test('is held by the replica that reserved it, until it ends', async () => {
    const { paid } = await spender(10)
    const usageId = await paid(ledger)
    expect([ledger.hasLease(usageId), ledgers[0].hasLease(usageId)]).toEqual([true, false])
    await ledger.finish(endingOf(usageId))
    expect(ledger.hasLease(usageId)).toBe(false)
  })

  test.each(['monotonic', 'wall'] as const)(
    'is not held after 25 s by the %s clock, even after another heartbeat',
    async (clock) => {
      const { paid } = await spender(10)
      const before = await paid(ledger)
      clocks[clock] += 25_000
      expect(ledger.hasLease(before)).toBe(false)
      const between = await paid(ledger)
      await ledger.sendHeartbeat()
      const after = await paid(ledger)
      const calls = [before, between, after]
      expect(calls.map((usageId) => ledger.hasLease(usageId))).toEqual([false, false, true])
      await Promise.all(calls.map((usageId) => ledger.finish(endingOf(usageId))))
    },
  )

  test('is charged if it was not refunded, and cannot be refunded afterwards', async () => {
    const { paid, balance } = await spender(10)
    const usageId = await paid(ledger)
    await silent()
    expect(await ledger.confirm(done(usageId))).toBe(true)
    expect([await ledgers[0].refundOrphans(), await balance()]).toEqual([0, 9n])
  })

  test('is neither charged nor answered if another replica refunded it', async () => {
    const { wallet, paid, balance } = await spender(30)
    const calls = await Promise.all(times(30, () => paid(ledger)))
    await silent()
    expect(await ledgers[0].refundOrphans()).toBe(30)
    await ledger.sendHeartbeat()
    expect(await Promise.all(calls.map((usageId) => ledger.confirm(done(usageId))))).toEqual(
      times(30, () => false),
    )
    expect(await balance()).toBe(30n)
    expect((await usageOf(wallet)).every(({ outcome }) => outcome === 'replica_died')).toBe(true)
  })

  test('is either charged and answered or refunded, never both, under concurrency', async () => {
    const { wallet, paid, balance } = await spender(40)
    const calls = await Promise.all(times(40, () => paid(ledger)))
    await silent()
    const [answered] = await Promise.all([
      Promise.all(calls.map((usageId) => ledger.confirm(done(usageId)))),
      ledgers[0].refundOrphans(),
      ledgers[1].refundOrphans(),
    ])
    const states = (await usageOf(wallet)).map(({ state }) => state === 'done')
    expect(answered).toEqual(states)
    expect(await balance()).toBe(BigInt(40 - answered.filter(Boolean).length))
  })
})

describe('a call whose charge could not be confirmed', () => {
  test('is refunded if the charge was written and its result lost', async () => {
    const { wallet, paid, balance } = await spender(10)
    const usageId = await paid(ledger)
    const isCut = proxy.cut('response')
    expect(await ledger.confirm(done(usageId))).toBe(false)
    await isCut
    expect((await usageOf(wallet))[0]).toMatchObject({ state: 'done' })
    await ledger.finishUnwritten()
    expect((await usageOf(wallet))[0]).toMatchObject({ state: 'refunded', outcome: 'not_answered' })
    expect(await balance()).toBe(10n)
  })

  test('is refunded once, whether its charge is written before or after', async () => {
    const { wallet, paid, balance } = await spender(10)
    const calls = await Promise.all(times(5, () => paid(ledger)))
    proxy.pause()
    const confirmed = await Promise.all(calls.map((usageId) => ledger.confirm(done(usageId))))
    proxy.resume()
    expect(confirmed).toEqual(times(5, () => false))
    await Promise.all([ledger.finishUnwritten(), ledger.finishUnwritten()])
    await ledger.drain()
    expect((await usageOf(wallet)).map(({ state }) => state)).toEqual(times(5, () => 'refunded'))
    expect(await balance()).toBe(10n)
  }, 30_000)

  test('is refunded by the statement that also charges it', async () => {
    const { wallet, paid, balance } = await spender(10)
    const usageId = await paid(ledger)
    // Neither is written: both are retried together.
    let isCut = proxy.cut('request')
    await expect(ledger.finish(done(usageId))).rejects.toThrow()
    await isCut
    isCut = proxy.cut('request')
    expect(await ledger.confirm(done(usageId))).toBe(false)
    await isCut
    expect(await usageOf(wallet)).toMatchObject([{ state: 'reserved' }])
    await ledger.finishUnwritten()
    expect(await usageOf(wallet)).toMatchObject([{ state: 'refunded', outcome: 'not_answered' }])
    expect(await balance()).toBe(10n)
  })

  test('is refunded if another statement charges it at the same time', async () => {
    const { wallet, paid, balance } = await spender(10)
    const calls = await Promise.all(times(10, () => paid(ledger)))
    const takeBack = (usageId: bigint) => ({ ...endingOf(usageId, 'refunded'), takesBack: true })
    const ended = await Promise.all(
      calls.map((usageId) => Promise.all([ledger.finish(done(usageId)), ledger.finish(takeBack(usageId))])),
    )
    expect(ended.map(([, isRefunded]) => isRefunded)).toEqual(times(10, () => true))
    expect((await usageOf(wallet)).map(({ state }) => state)).toEqual(times(10, () => 'refunded'))
    expect(await ledger.finish(takeBack(calls[0]!))).toBe(false)
    expect(await balance()).toBe(10n)
  })
})

async function withMovableClock() {
  await pool.query(`CREATE SCHEMA moved;
    CREATE TABLE moved.clock AS SELECT INTERVAL '0 seconds' AS ahead;
    CREATE FUNCTION moved.now() RETURNS timestamptz LANGUAGE sql STABLE
      AS 'SELECT pg_catalog.now() + (SELECT ahead FROM moved.clock)'`)
  const moved = new URL(url)
  moved.searchParams.set('options', '-c search_path=moved,public,pg_catalog')
  const open = () => {
    const database = openGatewayDatabase({ url: moved.href })
    closeLater(() => database.close())
    return createLedger(database)
  }
  return { open, step: (by: string) => pool.query('UPDATE moved.clock SET ahead = $1::INTERVAL', [by]) }
}

test('live replicas keep their calls when the clock of Postgres steps forward', async () => {
  const { open, step } = await withMovableClock()
  const [living, reaper] = [open(), open()]
  await Promise.all([living.sendHeartbeat(), reaper.sendHeartbeat()])
  const { wallet, paid, balance } = await spender(10)
  const usageId = await paid(living)
  await step('10 minutes')
  expect(await reaper.refundOrphans()).toBe(0)
  await reaper.sendHeartbeat()
  expect(await reaper.refundOrphans()).toBe(0)
  await living.sendHeartbeat()
  expect(await reaper.refundOrphans()).toBe(0)
  expect(await living.refundOrphans()).toBe(0)
  expect([living.hasLease(usageId), await living.confirm(done(usageId))]).toEqual([false, true])
  expect([(await usageOf(wallet))[0]?.['state'], await balance()]).toEqual(['done', 9n])
})
