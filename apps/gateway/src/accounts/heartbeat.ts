import { repeat, type Logger } from '@tollgate/service'
import { type Ledger } from './ledger'

const EVERY_MS = 2_000

/**
 * Keeps this replica's calls from being taken for a dead one's, and ends those that are left, until stopped. The former
 * never waits for the latter, which takes long while accounts are held.
 */
export async function startHeartbeat(ledger: Ledger, logger: Logger) {
  await ledger.beat()
  const beating = repeat({
    everyMs: EVERY_MS,
    work: () => ledger.beat(),
    onError: (error) => logger.error('heartbeat failed', { error }),
  })
  const ending = repeat({
    everyMs: EVERY_MS,
    async work() {
      try {
        await ledger.finishUnwritten()
      } finally {
        const refunded = await ledger.reap()
        if (refunded > 0) logger.warn('calls that nobody would have ended refunded', { calls: refunded })
      }
    },
    onError: (error) => logger.error('calls that are left could not be ended', { error }),
  })
  return {
    async stop() {
      await ending.stop()
      await beating.stop()
    },
  }
}
