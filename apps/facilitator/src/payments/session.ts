import { setTimeout as sleep } from 'node:timers/promises'
import { type Pool, type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 5_000

/**
 * Does `work` on a database connection of its own, and again on a new one whenever that breaks, until `stopping`. The
 * signal that `work` gets is aborted by either; whatever the connection held in Postgres is then gone.
 */
export async function keepSession(
  { pool, purpose, stopping, logger }: { pool: Pool; purpose: string; stopping: AbortSignal; logger: Logger },
  work: (client: PoolClient, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS
  while (!stopping.aborted) {
    const openedAt = performance.now()
    try {
      await withSession(pool, stopping, work)
    } catch (error) {
      logger.warn('a database session was lost; opening another', { purpose, error })
    }
    const lastedMs = performance.now() - openedAt
    pauseMs = lastedMs > MAX_PAUSE_MS ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS)
    await pause(pauseMs, stopping)
  }
}

async function withSession(
  pool: Pool,
  stopping: AbortSignal,
  work: (client: PoolClient, signal: AbortSignal) => Promise<void>,
) {
  const client = await pool.connect()
  const broken = new AbortController()
  client.once('end', () => broken.abort())
  client.once('error', () => broken.abort())
  try {
    await work(client, AbortSignal.any([stopping, broken.signal]))
  } finally {
    // Closed, not given back: locks and subscriptions end with it.
    client.release(true)
  }
}

/** What `work` does on `client` happens wholly or not at all. */
export async function inTransaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    // Postgres answers the commit of a transaction that failed meanwhile with ROLLBACK, and calls it no error.
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)

/** Resolves when `signal` is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
