import { setTimeout as delay } from 'node:timers/promises'
import { type Pool, type PoolClient } from 'pg'

/** One kind of rows that are deleted, or emptied, once they are old enough. */
export interface RetentionTask {
  name: string
  /** Handles at most `limit` rows, those after `after`, in the transaction that is open on `client`. */
  step: (client: PoolClient, page: { after: string | undefined; limit: number }) => Promise<RetentionStep>
}
export interface RetentionStep {
  rows: number
  /** Where the next step goes on; undefined at the end. */
  next: string | undefined
}

export interface RetentionOptions {
  pool: Pool
  /** Names the job: of all replicas that run it, one at a time takes a step. */
  lock: string
  tasks: readonly RetentionTask[]
  signal: AbortSignal
  /** Of a step; 1,000 unless told. */
  limit?: number | undefined
  /** Between two steps; 50 ms unless told. */
  pauseMs?: number | undefined
}
export interface RetentionReport {
  /** By the name of the task. */
  rows: Record<string, number>
  failures: { task: string; error: unknown }[]
  /** Whether another replica was at it, so that this one stopped. */
  isElsewhere: boolean
}

const STATEMENT_TIMEOUT_MS = 10_000
/** A step that has to wait gives way to those who serve callers. */
const LOCK_TIMEOUT_MS = 1_000

/**
 * Applies each task in small transactions until nothing is left to do, another replica is found at it, or `signal` is
 * aborted. A task that fails is reported and ends; the others go on. What was committed stays: the next run goes on from there.
 */
export async function runRetention(options: RetentionOptions): Promise<RetentionReport> {
  const { tasks, signal, pauseMs = 50 } = options
  const report: RetentionReport = { rows: {}, failures: [], isElsewhere: false }
  for (const task of tasks) {
    report.rows[task.name] = 0
    let after: string | undefined
    do {
      if (signal.aborted) return report
      const step = await takeStep(options, task, after).catch((error: unknown) => {
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

async function takeStep(
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
    const isOurs = await tryLock(client, lock)
    const step = isOurs ? await task.step(client, { after, limit }) : 'elsewhere'
    await client.query('COMMIT')
    client.release()
    return step
  } catch (error) {
    // A connection that is closed takes back what it had begun, but some time later: until then the lock is held.
    const isOpen = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    )
    client.release(!isOpen)
    throw error
  }
}

/** Held until the transaction ends, so that it works through a pooler and outlives no crash. */
async function tryLock(client: PoolClient, name: string): Promise<boolean> {
  const { rows } = await client.query<{ isOurs: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isOurs"',
    [`retention ${name}`],
  )
  return rows[0]?.isOurs === true
}
