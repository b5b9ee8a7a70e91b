import { setTimeout as delay } from 'node:timers/promises'
import { type Pool, type PoolClient } from '@tollgate/database'

const PATIENCE_MS = 10_000

/** Resolves once `count` statements in the database wait for a lock. */
export async function untilBlocked(pool: Pool, count = 1): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  const blocked = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  while ((await pool.query(blocked)).rowCount !== count) {
    if (performance.now() > deadline) throw new Error(`Not ${count} blocked within ${PATIENCE_MS} ms`)
    await delay(10)
  }
}

/** Runs `meanwhile` in an open transaction that holds what `first` locks, once the statement that `start` sends waits for it. */
export async function whileBlocked<T>(
  pool: Pool,
  first: (other: PoolClient) => Promise<unknown>,
  start: () => Promise<T>,
  meanwhile: (other: PoolClient) => unknown = () => undefined,
): Promise<T> {
  const other = await pool.connect()
  try {
    await other.query('BEGIN')
    await first(other)
    const started = start()
    started.catch(() => undefined)
    await untilBlocked(pool)
    await meanwhile(other)
    await other.query('COMMIT')
    return await started
  } finally {
    other.release(true)
  }
}
