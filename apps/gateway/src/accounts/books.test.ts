import { closeAll, closeLater } from '@tollgate/testing'
import fc from 'fast-check'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { findViolations, fund } from '../testing/accounts'
import { endingOf, times, openLedgers, waitForLockWaiter, type TestLedgers } from '../testing/ledgers'
import { readableLog } from '../testing/log'
import { startHeartbeat } from './heartbeat'
import { type Ledger } from './ledger'
import { DELETE_DEAD_REPLICAS } from './ledger-sql'

let { ledgers, pool, newReplica, spender, usageOf, ageReserved } = {} as TestLedgers
beforeAll(async () => {
  ;({ ledgers, pool, newReplica, spender, usageOf, ageReserved } = await openLedgers())
})
afterEach(async () => expect(await findViolations(pool)).toEqual([]))
afterAll(closeAll)

const silentFor = (ledger: Ledger, seconds: number) =>
  pool.query('UPDATE replicas SET heartbeat_at = now() - make_interval(secs => $2) WHERE id = $1', [
    ledger.replicaId,
    seconds,
  ])

describe('the calls of a dead replica', () => {
  test('are refunded once, by any replica, and those of live replicas are kept', async () => {
    const replica = newReplica()
    await replica.sendHeartbeat()
    const [dead, alive] = await Promise.all([spender(10), spender(10)])
    const ofDead = [await dead.paid(replica, 2), await dead.paid(replica, 3)]
    await replica.finish(endingOf(ofDead[0]!))
    const ofAlive = await alive.paid(ledgers[0])
    await ageReserved(3_600, ofAlive)

    await silentFor(replica, 15)
    expect(await ledgers[0].refundOrphans()).toBe(0)
    await silentFor(replica, 25)
    const reaped = await Promise.all(times(10, (index) => ledgers[index % 2]!.refundOrphans()))
    expect(reaped.reduce((sum, count) => sum + count)).toBe(1)
    expect([await dead.balance(), await alive.balance()]).toEqual([8n, 9n])
    expect(await usageOf(dead.wallet)).toEqual([
      expect.objectContaining({ state: 'done' }),
      expect.objectContaining({ state: 'refunded', outcome: 'replica_died' }),
    ])
    expect(await replica.finish(endingOf(ofDead[1]!))).toBe(false)
  })

  test('are refunded even if it died before its first heartbeat', async () => {
    const { paid, balance } = await spender(10)
    const usageId = await paid(newReplica())
    expect(await ledgers[0].refundOrphans()).toBe(0)
    await ageReserved(60, usageId)
    expect(await ledgers[0].refundOrphans()).toBe(1)
    expect(await balance()).toBe(10n)
  })

  test('are refunded by the heartbeat job of another', async () => {
    const [dead, alive] = [newReplica(), newReplica()]
    const { paid, balance } = await spender(10)
    await dead.sendHeartbeat()
    await paid(dead)
    await silentFor(dead, 25)
    const heartbeat = await startHeartbeat(alive, readableLog().logger)
    const { rows } = await pool.query('SELECT FROM replicas WHERE id = $1', [alive.replicaId])
    expect(rows).toHaveLength(1)
    await heartbeat.stop()
    expect(await balance()).toBe(10n)
  })
})

test('a replica is deleted an hour after its last heartbeat, unless it has calls to refund', async () => {
  const [old, withCalls, recent] = [newReplica(), newReplica(), newReplica()]
  const { paid } = await spender(10)
  for (const replica of [old, withCalls, recent]) await replica.sendHeartbeat()
  await paid(withCalls)
  await silentFor(old, 3_700)
  await silentFor(recent, 3_500)
  await silentFor(withCalls, 3_700)
  const known = async () => {
    const ids = [old, withCalls, recent].map(({ replicaId }) => replicaId)
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM replicas WHERE id = ANY($1)', [ids])
    return ids.map((id) => rows.some((row) => row.id === id))
  }
  await pool.query(DELETE_DEAD_REPLICAS, [3_600])
  expect(await known()).toEqual([false, true, true])
  expect(await ledgers[0].refundOrphans()).toBe(1)
  expect(await known()).toEqual([false, false, true])
})

test('the heartbeat job refunds calls of dead replicas even if it cannot write its own endings', async () => {
  const [alive, dead] = [newReplica(), newReplica()]
  const [mine, others] = [await spender(10), await spender(10)]
  await dead.sendHeartbeat()
  await others.paid(dead)
  const usageId = await mine.paid(alive)
  await pool.query(`
    CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'not now'; END $$ LANGUAGE plpgsql;
    CREATE TRIGGER refuse BEFORE UPDATE ON usage FOR EACH ROW WHEN (NEW.id = ${usageId}) EXECUTE FUNCTION refuse()`)
  const { logger, text } = readableLog()
  const heartbeat = await startHeartbeat(alive, logger)
  closeLater(() => heartbeat.stop())
  await expect(alive.finish(endingOf(usageId, 'refunded'))).rejects.toThrow('not now')
  const deadline = performance.now() + 30_000
  // From here on every attempt fails.
  while (!text().includes('not now') && performance.now() < deadline) await nextTurn()
  await silentFor(dead, 25)
  while ((await others.balance()) < 10n && performance.now() < deadline) await nextTurn()
  expect(await others.balance()).toBe(10n)
  await heartbeat.stop()
  await pool.query('DROP TRIGGER refuse ON usage')
  await alive.finishUnwritten()
  expect(await mine.balance()).toBe(10n)
})

describe('accounts are locked in the order of their ids, so that no two statements wait for each other', () => {
  async function leavesOthersAlone(wallets: string[], statement: () => Promise<unknown>) {
    const [holder, other] = await Promise.all([pool.connect(), pool.connect()])
    const lock = 'SELECT id FROM accounts WHERE wallet = ANY($1) ORDER BY id FOR UPDATE'
    // In physical order, this account would be locked last.
    await holder.query('UPDATE accounts SET balance = balance WHERE wallet = $1', [wallets[0]])
    await holder.query('BEGIN')
    await holder.query(lock, [wallets.slice(0, 1)])
    const work = statement()
    await waitForLockWaiter(pool)
    const locked = await other.query(`${lock} NOWAIT`, [wallets.slice(1)])
    await holder.query('COMMIT')
    for (const client of [holder, other]) client.release()
    await work
    return locked.rows.length === wallets.length - 1
  }
  const tenSpenders = async () => {
    const spenders = []
    for (let index = 0; index < 10; index++) spenders.push(await spender(10))
    return spenders
  }

  test('when spending', async () => {
    const spenders = await tenSpenders()
    const calls = spenders.toReversed().map(({ call }) => call())
    const wallets = spenders.map(({ wallet }) => wallet)
    expect(await leavesOthersAlone(wallets, () => Promise.all(calls.map(ledgers[1].spend)))).toBe(true)
  })

  test('when refunding', async () => {
    const spenders = await tenSpenders()
    const usages = await Promise.all(spenders.toReversed().map(({ paid }) => paid()))
    const wallets = spenders.map(({ wallet }) => wallet)
    const refunds = () =>
      Promise.all(usages.map((usageId) => ledgers[1].finish(endingOf(usageId, 'refunded'))))
    expect(await leavesOthersAlone(wallets, refunds)).toBe(true)
  })

  test('when refunding orphans', async () => {
    const dead = newReplica()
    await dead.sendHeartbeat()
    const spenders = await tenSpenders()
    await Promise.all(spenders.toReversed().map(({ paid }) => paid(dead)))
    await silentFor(dead, 25)
    const wallets = spenders.map(({ wallet }) => wallet)
    expect(await leavesOthersAlone(wallets, ledgers[1].refundOrphans)).toBe(true)
  })
})

test('the books balance after concurrent purchases, calls and refunds on two replicas', async () => {
  const wallets = await Promise.all(times(5, () => spender(10)))
  const step = fc.record({
    what: fc.constantFrom('spend', 'spend', 'spend', 'done', 'refund', 'grant', 'reap'),
    wallet: fc.nat(4),
    replica: fc.nat(1),
    cost: fc.integer({ min: 1, max: 8 }),
  })
  const open: bigint[] = []
  const run = fc.asyncProperty(
    fc.array(fc.array(step, { maxLength: 40 }), { maxLength: 4 }),
    async (rounds) => {
      for (const round of rounds)
        await Promise.all(
          round.map(async ({ what, wallet, replica, cost }) => {
            const [ledger, of] = [ledgers[replica]!, wallets[wallet]!]
            if (what === 'spend') {
              const spent = await ledger.spend(of.call(cost))
              if (spent.outcome === 'paid') open.push(spent.usageId)
            } else if (what === 'grant') await fund({ pool, ledger }, of.wallet, cost)
            else if (what === 'reap') await ledger.refundOrphans()
            else {
              const usageId = open[cost % Math.max(1, open.length)]
              if (usageId !== undefined)
                await ledger.finish(endingOf(usageId, what === 'done' ? 'done' : 'refunded'))
            }
          }),
        )
      expect(await findViolations(pool)).toEqual([])
    },
  )
  await fc.assert(run, { numRuns: 20 })
})
