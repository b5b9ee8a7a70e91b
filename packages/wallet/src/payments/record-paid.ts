import { type Events } from '../events.js'
import { untilStopped } from '../stops.js'
import { type PaymentLog, type StoredPayment } from './payment-log.js'
import { eventOfPayment } from './payment-event.js'

const LONGEST_WAIT_MS = 5_000

/**
 * Records that a payment is known as paid. What it paid for is given out also if the storage fails, or does not answer: then the
 * same payment is sent again by the next one who asks for it.
 */
export function createRecordPaid(parts: { log: PaymentLog; events: Events; closed: AbortSignal }) {
  const { log, events, closed } = parts

  return async (payment: StoredPayment, transaction: string): Promise<void> => {
    const slow = new AbortController()
    const timer = setTimeout(() => slow.abort(), LONGEST_WAIT_MS)
    const record = log.end(payment, 'paid', transaction)
    record.catch(() => undefined)
    await untilStopped(() => record, { closed, timeout: slow.signal }).catch(() => undefined)
    clearTimeout(timer)
    events.emit('paid', { ...eventOfPayment(payment), transaction })
  }
}
