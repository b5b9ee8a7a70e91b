import { startInterval, type Logger } from '@tollgate/service'
import { type Ledger } from './ledger'

const INTERVAL_MS = 2_000

/** Renews this replica's lease on its calls, and ends orphaned calls. The two run apart: ending calls is slow while accounts are locked. */
export async function startHeartbeat(ledger: Ledger, logger: Logger) {
  await ledger.sendHeartbeat()
  const heartbeat = startInterval({
    everyMs: INTERVAL_MS,
    work: () => ledger.sendHeartbeat(),
    onError: (error) => logger.error('heartbeat failed', { error }),
  })
  const cleanup = startInterval({
    everyMs: INTERVAL_MS,
    async work() {
      try {
        await ledger.finishUnwritten()
      } finally {
        const refunded = await ledger.refundOrphans()
        if (refunded > 0) logger.warn('orphaned calls refunded', { calls: refunded })
      }
    },
    onError: (error) => logger.error('orphaned call cleanup failed', { error }),
  })
  return {
    async stop() {
      await cleanup.stop()
      await heartbeat.stop()
    },
  }
}
