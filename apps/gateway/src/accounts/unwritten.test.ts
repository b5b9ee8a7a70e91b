import { openGatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater } from '@tollgate/testing'
import { findViolations } from '../testing/accounts'
import { endingOf, openLedgers, waitForLockWaiter, type TestLedgers } from '../testing/ledgers'
import { readableLog } from '../testing/log'
import { startHeartbeat } from './heartbeat'
import { createLedger } from './ledger'

let { ledgers, url, pool, newReplica, spender, usageOf, ageReserved } = {} as TestLedgers
beforeAll(async () => {
  ;({ ledgers, url, pool, newReplica, spender, usageOf, ageReserved } = await openLedgers())
})
afterEach(async () => expect(await findViolations(pool)).toEqual([]))
afterAll(closeAll)

async function unwritten(ledger = newReplica()) {
  const { wallet, paid, balance } = await spender(10)
  await ledger.sendHeartbeat()
  const usageId = await paid(ledger)
  await pool.query(`
    CREATE OR REPLACE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'not now'; END $$ LANGUAGE plpgsql;
    CREATE TRIGGER refuse BEFORE UPDATE OF state ON usage FOR EACH ROW WHEN (NEW.id = ${usageId}) EXECUTE FUNCTION refuse()`)
  await expect(ledger.finish(endingOf(usageId))).rejects.toThrow('not now')
  const state = async () => (await usageOf(wallet))[0]!.state
  return { ledger, usageId, balance, state, heal: () => pool.query('DROP TRIGGER refuse ON usage') }
}

test('a served call is not refunded, however long its ending cannot be written', async () => {
  const { ledger, usageId, balance, state, heal } = await unwritten()
  await ageReserved(3_600, usageId)
  await expect(ledger.finishUnwritten()).rejects.toThrow('not now')
  await heal()
  expect(await ledger.refundOrphans()).toBe(0)
  expect(await state()).toBe('reserved')
  await ledger.finishUnwritten()
  expect([await state(), await balance()]).toEqual(['done', 9n])
})

test('unwritten endings are written when the replica stops, if not before', async () => {
  const { ledger, balance, state, heal } = await unwritten()
  await expect(ledger.drain()).rejects.toThrow('not now')
  await heal()
  await ledger.drain()
  expect([await state(), await balance()]).toEqual(['done', 9n])
})

test('a replica sends heartbeats while its endings wait for a locked table, and keeps its calls', async () => {
  const longLockTimeout = openGatewayDatabase({ url, lockTimeoutMs: 14_000 })
  closeLater(() => longLockTimeout.close())
  const { ledger, balance, state, heal } = await unwritten(createLedger(longLockTimeout))
  await heal()
  const holder = await pool.connect()
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE accounts')
  const heartbeat = await startHeartbeat(ledger, readableLog().logger)
  closeLater(() => heartbeat.stop())
  await waitForLockWaiter(pool)

  const waitingSince = async () => {
    const text =
      "SELECT query_start::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    return (await pool.query<{ query_start: string }>(text)).rows.map(({ query_start }) => query_start)
  }
  const isSilent = async () => {
    const text = "SELECT FROM replicas WHERE id = $1 AND heartbeat_at < now() - INTERVAL '20 seconds'"
    return (await pool.query(text, [ledger.replicaId])).rowCount === 1
  }
  const since = await waitingSince()
  await pool.query("UPDATE replicas SET heartbeat_at = now() - INTERVAL '25 seconds' WHERE id = $1", [
    ledger.replicaId,
  ])
  const deadline = performance.now() + 30_000
  let now = since
  while ((await isSilent()) && performance.now() < deadline) now = await waitingSince()
  expect(now).toEqual(since)
  expect(await ledgers[0].refundOrphans()).toBe(0)

  await holder.query('ROLLBACK')
  holder.release()
  await heartbeat.stop()
  expect([await state(), await balance()]).toEqual(['done', 9n])
})
