import { TollgateError } from '../errors.js'
import { isExpired, type StoredPayment } from '../payments/payment-log.js'
import { type FindRefusal } from '../payments/allowance.js'
import { pause } from '../stops.js'
import { type GatewayClient } from './gateway-client.js'

const PAUSE_MS = 1_000
const MAX_WAIT_MS = 300_000
const MAX_RECORDS = 100

/** Statuses of the gateway's records: sending the payment again moves no more money. */
const MOVED = ['settled', 'credited', 'disputed']
const UNDER_WAY = ['received', 'settling']

/**
 * Payments for credits may have been signed earlier by a client with other limits. To send one that the gateway does not know,
 * or has refused, is to pay.
 */
export function createAssertMaySend(parts: {
  gateway: Pick<GatewayClient, 'payments'>
  findRefusal: FindRefusal
  now: () => number
  closed: AbortSignal
}) {
  const { gateway, findRefusal, now, closed } = parts

  async function statusOf({ payer, nonce }: StoredPayment): Promise<string | undefined> {
    if (nonce === undefined) return undefined
    const records = (await gateway.payments(payer, { limit: MAX_RECORDS })).data.filter(
      (record) => record.nonce === nonce,
    )
    return (records.find(({ status }) => status !== 'failed') ?? records[0])?.status
  }

  /**
   * Returns once the payment may be sent: within the limits, or because it moved its money before or has expired. Waits for one that is
   * on its way, and asks without sending it, which could pay it after a refusal.
   *
   * @param serverTime of the gateway, in Unix milliseconds
   * @throws TollgateError LIMIT_NOT_SET or LIMIT_REACHED; PAYMENT_PENDING
   */
  return async function assertMaySend(
    payment: StoredPayment,
    {
      serverTime,
      announce,
      signal,
    }: { serverTime: () => Promise<number>; announce: () => void; signal: AbortSignal | undefined },
  ): Promise<void> {
    const refuse = await findRefusal(payment)
    if (!refuse || (isExpired(payment, now()) && isExpired(payment, now(), await serverTime()))) return
    for (const deadline = now() + MAX_WAIT_MS; ;) {
      const status = await statusOf(payment)
      if (status !== undefined && MOVED.includes(status)) return
      if (status === undefined || !UNDER_WAY.includes(status)) throw refuse()
      announce()
      if (now() >= deadline)
        throw new TollgateError('PAYMENT_PENDING', 'The outcome of the payment is not known yet')
      await pause(PAUSE_MS, { closed, signal })
    }
  }
}
