import { repeat, type Logger } from '@tollgate/service'
import { type Ledger } from './ledger'

const EVERY_MS = 2_000

/** Keeps this replica's calls from being taken for a dead one's, and refunds those that nobody ends, until stopped. */
export async function startHeartbeat(ledger: Ledger, logger: Logger) {
  await ledger.beat()
  return repeat({
    everyMs: EVERY_MS,
    async work() {
      try {
        await ledger.beat()
      } finally {
        const refunded = await ledger.reap()
        if (refunded > 0) logger.warn('calls that nobody would have ended refunded', { calls: refunded })
      }
    },
    onError: (error) => logger.error('heartbeat failed', { error }),
  })
}
