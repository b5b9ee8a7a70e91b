import { openGatewayDatabase, QUERY_TIMEOUT_MS } from '@tollgate/database'
import { closeAll, closeLater } from '@tollgate/testing'
import { broken } from '../testing/accounts'
import { ended, many, openLedgers, type TestLedgers } from '../testing/ledgers'
import { startTcpProxy } from '../testing/tcp-proxy'
import { createLedger, type Ledger } from './ledger'

let { ledgers, pool, spender, usageOf } = {} as TestLedgers
let proxy: Awaited<ReturnType<typeof startTcpProxy>>
/** A living replica behind a connection that can be cut. */
let ledger: Ledger
beforeAll(async () => {
  const opened = await openLedgers()
  ;({ ledgers, pool, spender, usageOf } = opened)
  proxy = await startTcpProxy(opened.url)
  const database = openGatewayDatabase({ url: proxy.url, poolSize: 1 })
  closeLater(() => database.close())
  ledger = createLedger(database)
})
beforeEach(() => ledger.beat())
afterEach(async () => expect(await broken(pool)).toEqual([]))
afterAll(closeAll)

const grownOld = () =>
  pool.query("UPDATE usage SET created_at = created_at - interval '31 seconds' WHERE state = 'reserved'")

const notKnown = expect.objectContaining({
  code: 'UNAVAILABLE',
  status: 503,
  retryAfterSeconds: expect.any(Number) as number,
  message: expect.stringContaining('given back within a minute') as string,
}) as unknown

test('calls that were paid by a commit whose answer was lost are refunded once, by the replica that lost it', async () => {
  const { wallet, call, paid, balance } = await spender(100)
  const known = await paid(ledger)
  const isCut = proxy.cut('answer')
  const ends = await Promise.allSettled(many(10, () => ledger.spend(call())))
  await isCut
  expect(ends).toEqual(many(10, () => ({ status: 'rejected', reason: notKnown })))
  // Postgres committed, once: nothing was tried again.
  expect(await balance()).toBe(89n)
  expect(await usageOf(wallet)).toHaveLength(11)

  expect(await ledger.reap()).toBe(0)
  await grownOld()
  expect(await ledgers[0].reap()).toBe(0)
  const refunded = await Promise.all(many(5, () => ledger.reap()))
  expect(refunded.reduce((sum, count) => sum + count)).toBe(10)
  expect(await balance()).toBe(99n)
  const [first, ...others] = await usageOf(wallet)
  expect(first).toMatchObject({ id: known, state: 'reserved' })
  expect(others).toEqual(
    many(10, () => expect.objectContaining({ state: 'refunded', outcome: 'unconfirmed' }) as unknown),
  )
  expect(await ledger.finish(ended(known))).toBe(true)
})

test('a call is not taken for lost while the answer to its payment may still come', async () => {
  const { call, balance } = await spender(10)
  const isCut = proxy.cut('answer')
  await expect(ledger.spend(call())).rejects.toEqual(notKnown)
  await isCut
  const age = (seconds: number) =>
    pool.query("UPDATE usage SET created_at = now() - make_interval(secs => $1) WHERE state = 'reserved'", [
      seconds,
    ])
  // The statement began after it was sent, and its answer takes a moment more than Postgres's last word.
  await age(QUERY_TIMEOUT_MS / 1000 + 5)
  expect(await ledger.reap()).toBe(0)
  await age(QUERY_TIMEOUT_MS / 1000 + 15)
  expect(await ledger.reap()).toBe(1)
  expect(await balance()).toBe(10n)
})

test('calls whose connection was lost before Postgres heard of them cost nothing, and others go on', async () => {
  const { wallet, call, paid, balance } = await spender(10)
  const isCut = proxy.cut('question')
  await expect(ledger.spend(call())).rejects.toEqual(notKnown)
  await isCut
  expect(await balance()).toBe(10n)
  expect(await usageOf(wallet)).toEqual([])
  await paid(ledger)
  expect(await balance()).toBe(9n)
})

test.each(['done', 'refunded'] as const)(
  'a call that is %s stays so where the answer to its ending was lost',
  async (state) => {
    const { wallet, paid, balance } = await spender(10)
    const usageId = await paid(ledger)
    const isCut = proxy.cut('answer')
    await expect(ledger.finish(ended(usageId, state))).rejects.toThrow()
    await isCut
    await ledger.finishUnwritten()
    expect(await usageOf(wallet)).toEqual([expect.objectContaining({ state })])
    expect(await balance()).toBe(state === 'done' ? 9n : 10n)
  },
)
