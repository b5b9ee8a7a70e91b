import { type OpenPayment, type Plan, type Purchase as Bought } from '@tollgate/wallet'
import { isSignedAt, type PaymentProgress, type Stage } from './purchase-steps'

/** The work of the wallet package on the purchase. */
export type Run =
  | { is: 'under-way' }
  | { is: 'done'; bought: Bought }
  /**
   * `isStored`: this browser still has the payment as one without an outcome. `isRefused`: the gateway has refused it, so it is
   * sent again only at the press of a button.
   */
  | { is: 'stopped'; error: unknown; isStored: boolean; isRefused: boolean }

/** What is known of a purchase, whichever wallet is connected and whichever page is shown. */
export type Purchase = {
  key: string
  /** Who pays; only this wallet goes on with it. */
  address: string
  plan: Plan
  stage: Stage
  run: Run
  /** The payment was signed before the button was pressed, or before this page was opened. */
  isEarlier: boolean
  /** The payment's own, once this browser has stored it. */
  nonce: string | undefined
  /** Unix seconds: no chain takes the payment from then on. */
  validUntil: number | undefined
  /** This very payment as the gateway has it; null: the gateway does not know it. */
  record: PaymentProgress | null | undefined
  /** When the gateway answered with `record`, in Unix milliseconds. */
  readAt: number | undefined
}

/** When and where a purchase is looked at. `now` in Unix milliseconds. */
export type Moment = { now: number; isOnline: boolean }

export type PurchaseStatus =
  /** Nothing is signed. */
  | 'asked'
  /** And on the way to the gateway. */
  | 'signed'
  /** Signed, and this browser is offline. */
  | 'unsent'
  /** Sent, and the gateway has not said what became of it. */
  | 'unknown'
  /** The gateway has it, and goes on by itself. */
  | 'known'
  /** It can be taken no more, and may have been taken before: the gateway has not said so. */
  | 'late'
  | 'credited'
  /** By the gateway; sent again only at the press of a button. */
  | 'refused'
  /** An operator decides. */
  | 'disputed'
  /** Before anything was signed. */
  | 'cancelled'
  /** Failed before anything was signed. */
  | 'failed'
  /** Another tab, or a call, buys on the plan just now. */
  | 'elsewhere'
  /** The gateway takes no payment of the wallet just now: another client of it may be paying. */
  | 'busy'
  /** It can be taken no more, and was not, as the gateway has said since. */
  | 'expired'
  /** It has expired, and may have been taken before. */
  | 'lost'

export const keyOf = (address: string, planId: number): string => `${address.toLowerCase()} ${planId}`

/** Whether this wallet pays it. */
export const isOf = ({ key, plan }: Purchase, { address }: { address: string }): boolean =>
  key === keyOf(address, plan.id)

export const begun = (address: string, plan: Plan): Purchase => ({
  key: keyOf(address, plan.id),
  address,
  plan,
  stage: 'sign-in',
  run: { is: 'under-way' },
  isEarlier: false,
  nonce: undefined,
  validUntil: undefined,
  record: undefined,
  readAt: undefined,
})

/** A purchase whose payment was signed before. */
export const continued = (
  address: string,
  plan: Plan,
  { nonce, validUntil }: Partial<Pick<Purchase, 'nonce' | 'validUntil'>>,
): Purchase => ({ ...begun(address, plan), stage: 'sent', isEarlier: true, nonce, validUntil })

/** Nothing is signed yet, so the reader may cancel. */
export const isAsking = (purchase: Purchase): boolean =>
  purchase.run.is === 'under-way' && !isSignedAt(purchase.stage)

export function statusOf(purchase: Purchase, moment: Moment): PurchaseStatus {
  const { record, run } = purchase
  const code = run.is === 'stopped' ? codeOf(run.error) : undefined
  if (run.is === 'done' || record?.step === 'credited') return 'credited'
  if (record?.status === 'disputed' || code === 'PAYMENT_DISPUTED') return 'disputed'
  if (isAsking(purchase)) return 'asked'
  const isPast = isPastDeadline(purchase, moment.now)
  if (isPast && isRefusedAfterDeadline(purchase)) return 'expired'
  const isRefused = record?.step === 'failed'
  if (run.is === 'stopped' && isRefused) return 'refused'
  if (record && !isRefused) return isPast && isUnsettled(record) ? 'late' : 'known'
  if (run.is === 'stopped' && (code === 'PAYMENT_REFUSED' || run.isRefused)) return 'refused'
  if (run.is === 'stopped' && !run.isStored) return endOf(purchase, code)
  if (isPast) return 'late'
  if (!moment.isOnline) return 'unsent'
  return purchase.stage === 'sent' || run.is === 'stopped' ? 'unknown' : 'signed'
}

/** No transaction is known that could take the payment. */
const isUnsettled = ({ step, transaction }: PaymentProgress): boolean =>
  (step === 'signed' || step === 'pending') && transaction === null

const isPastDeadline = ({ validUntil }: Purchase, now: number): boolean =>
  validUntil !== undefined && now / 1000 >= validUntil

/** What the gateway said before the deadline may have changed until then. */
const isRefusedAfterDeadline = ({ record, readAt = 0, validUntil = Infinity }: Purchase): boolean =>
  record?.step === 'failed' && readAt / 1000 >= validUntil

/** How a purchase ended whose payment this browser does not have, or has no more. */
function endOf({ isEarlier, nonce, record }: Purchase, code: unknown): PurchaseStatus {
  if (code === 'PAYMENT_UNKNOWN') return 'lost'
  if (code === 'PURCHASE_UNDER_WAY') return 'elsewhere'
  if (code === 'PAYMENT_PENDING') return 'busy'
  if (code === 'ABORTED' || code === 'CLOSED') return 'cancelled'
  if (!isEarlier) return 'failed'
  // It has ended, here or in another tab: only the gateway says how.
  if (nonce === undefined) return 'lost'
  return record === null ? 'expired' : 'unknown'
}

export const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code

const open: ReadonlySet<PurchaseStatus> = new Set([
  'asked',
  'signed',
  'unsent',
  'unknown',
  'known',
  'late',
  'disputed',
  'lost',
])

/** The wallet package signs no other payment until the clocks of browser and chain are surely past the deadline. */
const CLOCK_SKEW_SECONDS = 60

/** Seconds until another payment can be signed in the place of one that has expired. */
export const secondsToNext = ({ validUntil = 0 }: Purchase, now: number): number =>
  Math.max(0, Math.ceil(validUntil + CLOCK_SKEW_SECONDS - now / 1000))

/** Whether another purchase on the plan could pay twice. */
export const isUndecided = (purchase: Purchase, now: number): boolean => {
  const status = statusOf(purchase, { now, isOnline: true })
  if (status === 'expired') return secondsToNext(purchase, now) > 0
  return purchase.run.is === 'under-way' || open.has(status)
}

const followed: ReadonlySet<PurchaseStatus> = new Set([
  'unsent',
  'unknown',
  'known',
  'late',
  'lost',
  'disputed',
])

/** Whether the gateway is to be asked for the payment. */
export function isFollowed(purchase: Purchase, now: number): boolean {
  const status = statusOf(purchase, { now, isOnline: true })
  if (status === 'credited' || status === 'expired') return false
  return purchase.run.is === 'under-way' || followed.has(status)
}

/**
 * Whether a payment that this browser has as open is to be sent again without being asked: not one that was refused, and not
 * one that is shown already.
 */
export const isToContinue = (payment: OpenPayment, shown: Purchase | undefined): boolean =>
  !payment.isRefused &&
  (shown === undefined || (shown.run.is !== 'under-way' && shown.nonce !== payment.nonce))
