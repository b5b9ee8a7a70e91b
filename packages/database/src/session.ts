import { setTimeout as sleep } from 'node:timers/promises'
import { type Pool, type PoolClient } from 'pg'

const FIRST_PAUSE_MS = 100
/** Settlement waits for it when Postgres is back. */
const MAX_PAUSE_MS = 1_000

export type SessionOptions = {
  pool: Pool
  purpose: string
  stopping: AbortSignal
  logger: { warn(message: string, fields: { purpose: string; error: unknown }): void }
}

/**
 * Runs `work` on its own connection, and again on a new one if that breaks, until `stopping`. Either event
 * aborts the signal of `work`; locks and subscriptions end with the connection.
 */
export async function keepSession(
  { pool, purpose, stopping, logger }: SessionOptions,
  work: (client: PoolClient, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS
  while (!stopping.aborted) {
    const openedAt = performance.now()
    try {
      await withSession(pool, stopping, work)
    } catch (error) {
      logger.warn('database session lost', { purpose, error })
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
    // Closed, not returned to the pool: its locks must end.
    client.release(true)
  }
}

export async function inTransaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  try {
    const result = await work()
    // Postgres answers the commit of a failed transaction with ROLLBACK, without an error.
    const { command } = await client.query('COMMIT')
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

export async function withTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let isFailed = true
  try {
    const result = await inTransaction(client, () => work(client))
    isFailed = false
    return result
  } finally {
    // After an error the rollback may not have arrived: such a connection is closed.
    client.release(isFailed)
  }
}

export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined)
