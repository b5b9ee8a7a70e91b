import { randomUUID } from 'node:crypto'
import { type Pool } from '@tollgate/database'
import { repeat, type Answer, type Logger } from '@tollgate/service'
import { createCounts, type Counts, type SettlementRefusal } from './counts'
import { dayOf } from './day'
import { flushOf, FORGET_REPLICA, FORGET_REPLICAS } from './flush-sql'

/** A killed process loses what it counted since its last flush: with the time of a write, less than a second. */
const FLUSH_EVERY_MS = 500
/** A few hundred bytes each. */
const MAX_KEYS = 20_000

export type Tally = ReturnType<typeof createTally>

/**
 * Counts requests and refused settlements in memory, and adds them to what is stored twice a second, in one statement, from
 * `begin` on. Any number of replicas may count into the same rows. While Postgres is away, counting goes on in bounded
 * memory; a statement whose answer was lost is sent again under its number, and so never counted twice.
 */
export function createTally(parts: { pool: Pool; logger: Logger; now: () => Date; maxKeys?: number }) {
  const { pool, logger, now, maxKeys = MAX_KEYS } = parts
  const replica = randomUUID()
  let counts = createCounts(maxKeys)
  let sending: { number: number; counts: Counts } | undefined
  let flushes = 0
  let isFailing = false
  let flushing: ReturnType<typeof repeat> | undefined

  async function flush() {
    if (!sending) {
      if (counts.isEmpty()) return
      sending = { number: ++flushes, counts }
      counts = createCounts(maxKeys)
    }
    await pool.query(flushOf(replica, sending.number, sending.counts)).catch(dropIfRefused)
    const missed = sending.counts.missed()
    sending = undefined
    if (missed > 0) logger.warn('more was to be counted than is held in memory; it is missing', { missed })
    if (isFailing) logger.info('metrics are written again')
    isFailing = false
  }

  /** A batch that Postgres refuses for its content would be refused for ever and block all later ones: it is dropped. */
  function dropIfRefused(error: unknown) {
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string' || !/^(22|23|54)/.test(code)) throw error
    logger.error('metrics that Postgres does not take are dropped', { error })
  }

  function onError(error: unknown) {
    if (!isFailing) logger.warn('metrics cannot be written; counting on in memory', { error })
    isFailing = true
  }

  return {
    /** To be called once for every request, when it is over. */
    answered: (answer: Answer) => counts.answered(dayOf(now()), answer),

    /** A settlement refused at `at`, or now. */
    refused: ({ at = now(), ...refusal }: Omit<SettlementRefusal, 'day'> & { at?: Date }) =>
      counts.refused({ ...refusal, day: dayOf(at) }),

    begin() {
      flushing = repeat({ everyMs: FLUSH_EVERY_MS, work: flush, onError })
      pool.query(FORGET_REPLICAS).catch(onError)
    },

    /** Writes what is left: for when nothing is counted any more, and while the database is still open. */
    async close() {
      await flushing?.stop()
      try {
        while (sending || !counts.isEmpty()) await flush()
        if (flushes > 0) await pool.query(FORGET_REPLICA, [replica])
      } catch (error) {
        logger.error('the last metrics could not be written; they are lost', { error })
      }
    },
  }
}
