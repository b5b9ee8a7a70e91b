import { repeat, type Logger } from '@tollgate/service'
import { type Settlement } from './settlement'
import { type PaymentStore } from './store'

const EVERY_MS = 1_000
/** Each may hold a connection for as long as its account is held, and calls need some too. */
const AT_ONCE = { atOnce: 6, settled: 4 }

/** Finishes what crashes and outages left behind: every payment that is due is taken further, until it has ended. */
export function startReconciler(parts: { store: PaymentStore; settlement: Settlement; logger: Logger }) {
  const { store, settlement, logger } = parts
  return repeat({
    everyMs: EVERY_MS,
    async work() {
      const due = await store.due(AT_ONCE)
      const ends = await Promise.allSettled(due.map((id) => settlement.advance(id)))
      for (const end of ends)
        if (end.status === 'rejected')
          logger.error('payment could not be taken further', { error: end.reason as unknown })
    },
    onError: (error) => logger.warn('payments could not be looked through', { error }),
  })
}
