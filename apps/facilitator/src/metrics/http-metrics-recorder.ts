import { randomUUID } from 'node:crypto'
import { type Pool } from '@tollgate/database'
import { startInterval, type CompletedRequest, type Logger } from '@tollgate/service'
import { inTransaction } from '@tollgate/database'
import { dayOf } from './day'
import { flushMetrics, FORGET_REPLICA, FORGET_STOPPED_REPLICAS } from './flush-sql'
import { createMetricsBuffer, type MetricsBuffer, type SettlementRefusal } from './metrics-buffer'

/** A killed process loses at most the counts of this interval. */
const FLUSH_INTERVAL_MS = 500
/** A key takes a few hundred bytes. */
const MAX_KEYS = 20_000

export type HttpMetricsRecorder = ReturnType<typeof createHttpMetricsRecorder>

/**
 * Counts requests and refused settlements in bounded memory and flushes them to Postgres, exactly once: a flush whose
 * response was lost is retried under its number. Any number of replicas may add to the same rows.
 */
export function createHttpMetricsRecorder({
  pool,
  logger,
  now,
  maxKeys = MAX_KEYS,
}: {
  pool: Pick<Pool, 'connect' | 'query'>
  logger: Logger
  now: () => Date
  maxKeys?: number
}) {
  const replica = randomUUID()
  let counts = createMetricsBuffer(maxKeys)
  let pending: { number: number; counts: MetricsBuffer } | undefined
  let lastNumber = 0
  let isFailing = false
  let flushing: ReturnType<typeof startInterval> | undefined

  async function flush() {
    if (!pending) {
      if (counts.isEmpty()) return
      pending = { number: ++lastNumber, counts }
      counts = createMetricsBuffer(maxKeys)
    }
    await write(pending).catch(dropIfRejected)
    const missed = pending.counts.missed()
    pending = undefined
    if (missed > 0) logger.warn('metrics buffer full', { missed })
    if (isFailing) logger.info('metrics flush recovered')
    isFailing = false
  }

  async function write(batch: { number: number; counts: MetricsBuffer }) {
    const client = await pool.connect()
    let hasFailed = true
    try {
      await inTransaction(client, () => flushMetrics(client, { replica, ...batch }))
      hasFailed = false
    } finally {
      client.release(hasFailed)
    }
  }

  /** Retrying a batch that Postgres rejects for its content would block all later ones. */
  function dropIfRejected(error: unknown) {
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string' || !/^(22|23|54)/.test(code)) throw error
    logger.error('metrics dropped', { error })
  }

  function onError(error: unknown) {
    if (!isFailing) logger.warn('metrics flush failed', { error })
    isFailing = true
  }

  return {
    answered: (answer: CompletedRequest) => counts.answered(dayOf(now()), answer),

    refused: ({ at = now(), ...refusal }: Omit<SettlementRefusal, 'day'> & { at?: Date }) =>
      counts.refused({ ...refusal, day: dayOf(at) }),

    begin() {
      flushing = startInterval({ everyMs: FLUSH_INTERVAL_MS, work: flush, onError })
      pool.query(FORGET_STOPPED_REPLICAS).catch(onError)
    },

    async close() {
      await flushing?.stop()
      try {
        while (pending || !counts.isEmpty()) await flush()
        if (lastNumber > 0) await pool.query(FORGET_REPLICA, [replica])
      } catch (error) {
        logger.error('metrics lost', { error })
      }
    },
  }
}
