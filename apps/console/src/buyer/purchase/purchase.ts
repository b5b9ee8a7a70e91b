import { type OpenPayment, type Plan, type Purchase as Bought } from '@tollgate/wallet'
import { type PaymentProgress } from './purchase-steps'

/** What is known of a purchase, whichever wallet is connected and whichever page is shown. */
export type Purchase = {
  key: string
  /** Who pays; only this wallet goes on with it. */
  address: string
  plan: Plan
  /** The wallet package works on it. */
  isRunning: boolean
  /** The wallet has been asked for the payment, so the sign-in is done. */
  isPriced: boolean
  isSigned: boolean
  /** The payment has been sent without an answer that says what became of it; perhaps it did not arrive. */
  isSent: boolean
  /** The payment was signed before the button was pressed, or before this page was opened. */
  isEarlier: boolean
  /** Of the payment, once it is stored in this browser. */
  nonce: string | undefined
  /** Of this very payment, as the gateway has it; null: the gateway does not know it. */
  record: PaymentProgress | null | undefined
  bought: Bought | undefined
  error: unknown
  /** After the end: whether this browser still has the payment as one whose outcome is not known. */
  isOpen: boolean
  /** Of that one: the gateway has refused it, so it is sent again only at the press of a button. */
  wasRefused: boolean
}

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
  /** It can be taken no more, and was not. */
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
  isRunning: true,
  isPriced: false,
  isSigned: false,
  isSent: false,
  isEarlier: false,
  nonce: undefined,
  record: undefined,
  bought: undefined,
  error: undefined,
  isOpen: false,
  wasRefused: false,
})

/** Of a payment that was signed before. */
export const continued = (address: string, plan: Plan, nonce: string | undefined): Purchase => ({
  ...begun(address, plan),
  isPriced: true,
  isSigned: true,
  isSent: true,
  isEarlier: true,
  nonce,
})

export function statusOf(purchase: Purchase, isOnline: boolean): PurchaseStatus {
  const { bought, record, isRunning, isSigned, isSent, isOpen, wasRefused } = purchase
  const code = codeOf(purchase.error)
  if (bought !== undefined || record?.step === 'credited') return 'credited'
  if (record?.status === 'disputed' || code === 'PAYMENT_DISPUTED') return 'disputed'
  const isRefused = record?.step === 'failed'
  if (isRunning && !isSigned) return 'asked'
  if (!isRunning && isRefused) return 'refused'
  if (record && !isRefused) return 'known'
  if (!isRunning && (code === 'PAYMENT_REFUSED' || wasRefused)) return 'refused'
  if (!isRunning && !isOpen) return endOf(purchase, code)
  if (!isOnline) return 'unsent'
  return isSent || !isRunning ? 'unknown' : 'signed'
}

/** Of a purchase whose payment this browser does not have, or has no more. */
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
  'disputed',
  'lost',
])

/** Whether another purchase on the plan could pay twice. */
export const isUndecided = (purchase: Purchase): boolean =>
  purchase.isRunning || open.has(statusOf(purchase, true))

const followed: ReadonlySet<PurchaseStatus> = new Set(['unsent', 'unknown', 'known', 'lost', 'disputed'])

/** Whether the gateway is to be asked for the payment. */
export const isFollowed = (purchase: Purchase): boolean =>
  (purchase.isRunning && !isCredited(purchase)) || followed.has(statusOf(purchase, true))

const isCredited = ({ record }: Purchase) => record?.step === 'credited'

/**
 * Whether a payment that this browser has as open is to be sent again without being asked: not one that was refused, and not
 * one that is shown already.
 */
export const isToContinue = (payment: OpenPayment, shown: Purchase | undefined): boolean =>
  !payment.isRefused && (shown === undefined || (!shown.isRunning && shown.nonce !== payment.nonce))
