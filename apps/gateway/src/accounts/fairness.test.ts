import { openGatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater } from '@tollgate/testing'
import { findViolations } from '../testing/accounts'
import {
  inSession,
  endingOf,
  lockAccount,
  times,
  openLedgers,
  waitForLockWaiter,
  type TestLedgers,
} from '../testing/ledgers'
import { createLedger } from './ledger'

let { url, ledgers, pool, newReplica, spender, usageOf } = {} as TestLedgers
beforeAll(async () => {
  ;({ url, ledgers, pool, newReplica, spender, usageOf } = await openLedgers())
})
afterEach(async () => expect(await findViolations(pool)).toEqual([]))
afterAll(closeAll)

type Spender = Awaited<ReturnType<typeof spender>>

const reasons = (ends: PromiseSettledResult<unknown>[]) =>
  ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason as { message: string })

async function accountOf({ wallet }: Spender) {
  const { rows } = await pool.query<{ id: bigint }>('SELECT id FROM accounts WHERE wallet = $1', [wallet])
  return rows[0]!.id
}

/** Makes Postgres refuse writes to this table for the account, until the returned function is called. */
async function poison(of: Spender, table: 'usage' | 'accounts') {
  const column = table === 'usage' ? 'account_id' : 'id'
  await pool.query(`
    CREATE OR REPLACE FUNCTION poison() RETURNS trigger AS $$ BEGIN RAISE 'poisoned by a secret'; END $$ LANGUAGE plpgsql;
    CREATE TRIGGER poison BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW
      WHEN (NEW.${column} = ${await accountOf(of)}) EXECUTE FUNCTION poison()`)
  return () => pool.query(`DROP TRIGGER poison ON ${table}`)
}

describe('one invalid call of a batch of five hundred fails alone', () => {
  const rows: [string, (poisoned: Spender) => Promise<{ call?: object; heal?: () => Promise<unknown> }>][] = [
    ['a text that Postgres refuses', () => Promise.resolve({ call: { resource: 'a\0b' } })],
    ['a number beyond its column', () => Promise.resolve({ call: { cost: 2 ** 31 } })],
    ['a session that is no uuid', () => Promise.resolve({ call: { authority: inSession('no uuid') } })],
    ['a cost that a constraint refuses', () => Promise.resolve({ call: { cost: 0 } })],
    ['a trigger on its usage', async (poisoned) => ({ heal: await poison(poisoned, 'usage') })],
    ['a trigger on its account', async (poisoned) => ({ heal: await poison(poisoned, 'accounts') })],
  ]
  test.each(rows)('for %s', async (_, prepare) => {
    const [good, poisoned] = [await spender(1000), await spender(10)]
    const { call, heal } = await prepare(poisoned)
    const charges = times(500, (index) => (index === 313 ? poisoned.call(1, call) : good.call()))
    const ends = await Promise.allSettled(charges.map(ledgers[0].spend))
    await heal?.()

    const [reason, ...others] = reasons(ends)
    expect(others).toEqual([])
    expect(ends[313]!.status).toBe('rejected')
    expect(reason).toMatchObject({ code: 'INTERNAL_ERROR', status: 500 })
    expect(reason!.message).toContain('neither made nor charged')
    expect(reason!.message).not.toMatch(/secret|usage|accounts|uuid|SELECT|INSERT/)
    expect([await good.balance(), await poisoned.balance()]).toEqual([501n, 10n])
    expect(await usageOf(good.wallet)).toHaveLength(499)
  })

  test('several invalid calls fail alone, and the others keep their order', async () => {
    const [good, poisoned] = [await spender(60), await spender(10)]
    const charges = times(100, (index) =>
      index % 10 === 3 ? poisoned.call(1, { resource: '\0' }) : good.call(),
    )
    const ends = await Promise.allSettled(charges.map(ledgers[0].spend))
    const outcomes = ends.map((end) => (end.status === 'fulfilled' ? end.value.outcome : 'rejected'))
    const isServed = (outcome: string) => outcome !== 'rejected'
    // The first caller is served first.
    expect(outcomes.filter(isServed)).toEqual([
      ...times(60, () => 'paid'),
      ...times(30, () => 'insufficient'),
    ])
    expect(outcomes.map((outcome, index) => isServed(outcome) || index % 10 === 3)).not.toContain(false)
    expect(await good.balance()).toBe(0n)
  })

  test('one invalid ending fails alone and is written later', async () => {
    const [good, poisoned] = [await spender(100), await spender(10)]
    const calls = await Promise.all(times(50, (index) => (index === 13 ? poisoned : good).paid()))
    const heal = await poison(poisoned, 'accounts')
    const ends = await Promise.allSettled(calls.map((id) => ledgers[0].finish(endingOf(id, 'refunded'))))
    expect(reasons(ends)).toHaveLength(1)
    expect(await good.balance()).toBe(100n)
    await heal()
    await ledgers[0].finishUnwritten()
    expect(await poisoned.balance()).toBe(10n)
  })

  test('one invalid orphan fails alone', async () => {
    const dead = newReplica()
    const [good, poisoned] = [await spender(100), await spender(10)]
    await Promise.all(times(50, (index) => (index === 13 ? poisoned : good).paid(dead)))
    await pool.query(
      "UPDATE reservations SET created_at = now() - INTERVAL '1 minute' WHERE replica_id = $1",
      [dead.replicaId],
    )
    const heal = await poison(poisoned, 'usage')
    await expect(ledgers[0].refundOrphans()).rejects.toThrow('1 orphaned calls could not be refunded')
    expect([await good.balance(), await poisoned.balance()]).toEqual([100n, 9n])
    await heal()
    expect(await ledgers[0].refundOrphans()).toBe(1)
    expect(await poisoned.balance()).toBe(10n)
  })
})

describe('an account locked by a stuck transaction', () => {
  test('delays only its own calls, which are answered with Retry-After', async () => {
    const [good, stuck] = [await spender(1000), await spender(10)]
    const ledger = newReplica()
    const release = await lockAccount(pool, stuck.wallet)
    const [first, ...beside] = await Promise.allSettled(
      [stuck, ...times(100, () => good)].map(({ call }) => ledger.spend(call())),
    )
    expect(reasons(beside)).toEqual([])
    expect(reasons([first!])).toEqual([
      expect.objectContaining({
        code: 'UNAVAILABLE',
        status: 503,
        retryAfterSeconds: expect.any(Number) as number,
      }),
    ])

    // The account is now known as contended: its calls wait, those of others do not.
    const waiting = Promise.allSettled(times(10, () => ledger.spend(stuck.call())))
    await waitForLockWaiter(pool)
    const others = Promise.all(times(400, () => ledger.spend(good.call())))
    expect(await Promise.race([waiting.then(() => 'stuck'), others.then(() => 'others')])).toBe('others')
    expect(reasons(await waiting)).toHaveLength(10)
    expect(await stuck.balance()).toBe(10n)

    await release()
    expect(await ledger.spend(stuck.call())).toMatchObject({ outcome: 'paid', remaining: 9n })
    expect(await good.balance()).toBe(500n)
  })

  test('is charged without an error if it is unlocked in time', async () => {
    const held = await spender(10)
    const release = await lockAccount(pool, held.wallet)
    const calls = times(5, () => ledgers[0].spend(held.call()))
    await waitForLockWaiter(pool)
    await release()
    expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toEqual(times(5, () => 'paid'))
  })

  test('is skipped by the connection that waited for it, which has released the rows of the others by then', async () => {
    const [good, stuck] = [await spender(10), await spender(10)]
    const database = openGatewayDatabase({ url, poolSize: 1 })
    closeLater(() => database.close())
    const ledger = createLedger(database)
    await ledger.sendHeartbeat()
    let closedConnections = 0
    database.pool.on('remove', () => closedConnections++)
    const release = await lockAccount(pool, stuck.wallet)
    const ends = await Promise.allSettled([stuck, good].map(({ call }) => ledger.spend(call())))
    await release()
    expect(reasons(ends)).toHaveLength(1)
    expect(await good.balance()).toBe(9n)
    expect(closedConnections).toBe(0)
  })

  test('gets its refunds later, and does not delay those of others', async () => {
    const [good, stuck] = [await spender(100), await spender(10)]
    const calls = await Promise.all([stuck, ...times(20, () => good)].map(({ paid }) => paid(ledgers[1])))
    const release = await lockAccount(pool, stuck.wallet)
    const ends = await Promise.allSettled(calls.map((id) => ledgers[1].finish(endingOf(id, 'refunded'))))
    expect(reasons(ends)).toHaveLength(1)
    expect(await good.balance()).toBe(100n)
    await expect(ledgers[1].finishUnwritten()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await release()
    await ledgers[1].finishUnwritten()
    expect(await stuck.balance()).toBe(10n)
  })

  test('does not block refunds of dead replicas’ calls on other accounts', async () => {
    const [good, stuck, dead] = [await spender(10), await spender(10), newReplica()]
    await Promise.all([good.paid(dead), stuck.paid(dead)])
    await pool.query(
      "UPDATE reservations SET created_at = now() - INTERVAL '1 minute' WHERE replica_id = $1",
      [dead.replicaId],
    )
    const release = await lockAccount(pool, stuck.wallet)
    expect(await ledgers[0].refundOrphans()).toBe(1)
    expect(await good.balance()).toBe(10n)
    await release()
    expect(await ledgers[0].refundOrphans()).toBe(1)
    expect(await stuck.balance()).toBe(10n)
  })
})
