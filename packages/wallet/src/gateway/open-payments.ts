import { type ProposedPayment } from '../limits.js'
import { eventOfPayment } from '../payments/payment-event.js'
import { type StoredPayment } from '../payments/payment-log.js'

/** A signed payment for credits of which the gateway has not said what became of it. */
export type OpenPayment = ProposedPayment & {
  planId: number
  /** The gateway's records have it too; it is absent if an older version signed the payment. */
  nonce?: string
  /** Unix milliseconds. */
  signedAt: number
  /** Unix seconds: no chain takes the payment after it. */
  validUntil?: number
  /** The gateway has refused it so far: it takes it only if it is sent again. */
  isRefused: boolean
}

const around = (url: string) => ['credits of plan ', ` at ${url}`] as const

/** A stored payment names its purpose so. */
export function purposeOfCredits(planId: number, url: string): string {
  const [before, after] = around(url)
  return `${before}${planId}${after}`
}

export function listOpenPayments(payments: readonly StoredPayment[], url: string): OpenPayment[] {
  const [before, after] = around(url)
  return payments.flatMap((payment) => {
    const { purpose, state, nonce, signedAt, validUntil, isRefused = false } = payment
    if (state !== 'open' || !purpose.startsWith(before) || !purpose.endsWith(after)) return []
    const planId = Number(purpose.slice(before.length, -after.length))
    const known = { ...(nonce !== undefined && { nonce }), ...(validUntil !== undefined && { validUntil }) }
    return [{ ...eventOfPayment(payment), planId, signedAt, isRefused, ...known }]
  })
}
