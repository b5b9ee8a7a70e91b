import { startInterval, type Logger } from '@tollgate/service'
import { type PaymentProcessor } from './payment-processor'
import { type DuePayment, type SettlementStore } from './settlement-store'

const INTERVAL_MS = 1_000
/** Each can hold a connection while its account is locked, and calls need connections too. */
const MAX_CONCURRENT = 6
const MAX_CONCURRENT_SETTLED = 4

export function startReconciler(dependencies: {
  settlements: Pick<SettlementStore, 'findDue'>
  processor: PaymentProcessor
  logger: Logger
}) {
  const { settlements, processor, logger } = dependencies
  const inFlight = new Map<Promise<unknown>, { wallet: string }>()

  function advance(payment: DuePayment) {
    const { id, wallet } = payment
    const step = processor
      .advance(id)
      .catch((error: unknown) => logger.error('payment processing failed', { paymentId: id, wallet, error }))
      .finally(() => inFlight.delete(step))
    inFlight.set(step, payment)
  }

  const scan = startInterval({
    everyMs: INTERVAL_MS,
    async work() {
      const limit = MAX_CONCURRENT - inFlight.size
      if (limit <= 0) return
      const busyWallets = [...inFlight.values()].map(({ wallet }) => wallet)
      const maxSettled = Math.min(MAX_CONCURRENT_SETTLED, limit)
      const due = await settlements.findDue({ limit, maxSettled, busyWallets })
      due.forEach(advance)
    },
    onError: (error) => logger.warn('reconciler scan failed', { error }),
  })

  return {
    async stop() {
      await scan.stop()
      await Promise.all(inFlight.keys())
    },
  }
}
