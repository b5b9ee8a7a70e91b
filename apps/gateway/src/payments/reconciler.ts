import { repeat, type Logger } from '@tollgate/service'
import { type Settlement } from './settlement'
import { type Due, type PaymentStore } from './store'

const EVERY_MS = 1_000
/** Each may hold a connection for as long as its account is held, and calls need some too. */
const AT_ONCE = { atOnce: 6, settled: 4 }

/**
 * Finishes what crashes and outages left behind: every payment that is due is taken further, until it has ended. One that
 * the facilitator is slow to answer about holds up no other.
 */
export function startReconciler(parts: { store: PaymentStore; settlement: Settlement; logger: Logger }) {
  const { store, settlement, logger } = parts
  /** Each with the wallet of its payment. */
  const underWay = new Map<Promise<unknown>, string>()

  function takeFurther({ id, wallet }: Due) {
    const step = settlement
      .advance(id)
      .catch((error: unknown) =>
        logger.error('payment could not be taken further', { paymentId: id, wallet, error }),
      )
      .finally(() => underWay.delete(step))
    underWay.set(step, wallet)
  }

  const rounds = repeat({
    everyMs: EVERY_MS,
    async work() {
      const atOnce = AT_ONCE.atOnce - underWay.size
      if (atOnce <= 0) return
      const busy = [...underWay.values()]
      const due = await store.due({ atOnce, settled: Math.min(AT_ONCE.settled, atOnce), busy })
      due.forEach(takeFurther)
    },
    onError: (error) => logger.warn('payments could not be looked through', { error }),
  })

  return {
    /** Resolves when what is under way has ended; nothing is begun any more. */
    async stop() {
      await rounds.stop()
      await Promise.all(underWay.keys())
    },
  }
}
