import { setTimeout as delay } from 'node:timers/promises'
import { type Pool, type PoolClient } from 'pg'

export type RetentionTask = {
  name: string
  /** Processes at most `limit` rows after `after`, in the transaction of `client`. */
  step: (client: PoolClient, page: { after: string | undefined; limit: number }) => Promise<RetentionStep>
}
export type RetentionStep = {
  rows: number
  /** The `after` of the next step; undefined at the end. */
  next: string | undefined
}

export type RetentionOptions = {
  pool: Pool
  /** The name of the job; one replica at a time runs a step of it. */
  lock: string
  tasks: readonly RetentionTask[]
  signal: AbortSignal
  /** Rows per step, 1,000 by default. */
  limit?: number | undefined
  /** Between two steps, 50 by default. */
  pauseMs?: number | undefined
}
export type RetentionReport = {
  rows: Record<string, number>
  failures: { task: string; error: unknown }[]
  /** Another replica was running the job, so this run stopped. */
  isElsewhere: boolean
}

const STATEMENT_TIMEOUT_MS = 10_000
/** A step must not block the queries of requests. */
const LOCK_TIMEOUT_MS = 1_000

/**
 * Runs each task in small transactions until it is done, another replica runs the job, or `signal` is aborted. A failed task
 * is reported, and the other tasks continue. Committed steps stay committed.
 */
export async function runRetention(options: RetentionOptions): Promise<RetentionReport> {
  const { tasks, signal, pauseMs = 50 } = options
  const report: RetentionReport = { rows: {}, failures: [], isElsewhere: false }
  for (const task of tasks) {
    report.rows[task.name] = 0
    let after: string | undefined
    do {
      if (signal.aborted) return report
      const step = await runStep(options, task, after).catch((error: unknown) => {
        report.failures.push({ task: task.name, error })
        return undefined
      })
      if (step === 'elsewhere') return { ...report, isElsewhere: true }
      report.rows[task.name] = (report.rows[task.name] ?? 0) + (step?.rows ?? 0)
      after = step?.next
      if (after !== undefined) await delay(pauseMs, undefined, { signal }).catch(() => undefined)
    } while (after !== undefined)
  }
  return report
}

async function runStep(
  { pool, lock, limit = 1_000 }: RetentionOptions,
  task: RetentionTask,
  after: string | undefined,
): Promise<RetentionStep | 'elsewhere'> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query(
      `SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
    )
    const isLocked = await tryLock(client, lock)
    const step = isLocked ? await task.step(client, { after, limit }) : 'elsewhere'
    await client.query('COMMIT')
    client.release()
    return step
  } catch (error) {
    // Closing the connection would roll back too, but later: the lock is held until then.
    const isOpen = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    )
    client.release(!isOpen)
    throw error
  }
}

/** Held until the transaction ends, so that it works through a pooler and a crash releases it. */
async function tryLock(client: PoolClient, name: string): Promise<boolean> {
  const { rows } = await client.query<{ isLocked: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isLocked"',
    [`retention ${name}`],
  )
  return rows[0]?.isLocked === true
}
