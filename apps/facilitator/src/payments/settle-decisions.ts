import { type Payment, type Refusal } from '@tollgate/chains'
import { isMismatched } from '../settlement/status'
import { type KeyRelation, type Requester, type Settlement } from './store'

/**
 * Whether the request repeats the one that claimed the settlement: sent with the same client key, or with another key of the
 * same user that replaces it.
 */
export function isRepeat(
  settlement: Pick<Settlement, keyof Requester | 'successReportedAt'>,
  requester: Requester,
  keyRelation: KeyRelation,
): boolean {
  if (!requester.requestHash.equals(settlement.requestHash)) return false
  if (keyRelation === 'same' || keyRelation === 'replaced') return true
  return (
    keyRelation === 'same-user' &&
    settlement.successReportedAt === null &&
    hasSameIdempotencyKey(settlement, requester)
  )
}

type WithIdempotencyKey = Pick<Requester, 'idempotencyKey'>

export const hasSameIdempotencyKey = (one: WithIdempotencyKey, other: WithIdempotencyKey): boolean =>
  one.idempotencyKey !== null && one.idempotencyKey === other.idempotencyKey

/** A failed settlement can be reclaimed, except by a repeat under its Idempotency-Key, which asks for its outcome. */
export const isReclaimable = (
  settlement: Pick<Settlement, 'status' | 'errorReason' | 'idempotencyKey'>,
  requester: WithIdempotencyKey,
  { isRepeat }: { isRepeat: boolean },
): boolean =>
  settlement.status === 'failed' &&
  !isMismatched(settlement) &&
  !(isRepeat && hasSameIdempotencyKey(settlement, requester))

/**
 * Why a payment can be claimed: `valid`; `unused`, a valid transaction signed by its payer, whose nonce is therefore free; or
 * `paid`, an earlier broadcast for it was mined after all.
 */
export type ClaimBasis = 'valid' | 'unused' | 'paid'
export type ClaimDecision =
  | { action: 'claim'; basis: ClaimBasis }
  | { action: 'answer-earlier' }
  | { action: 'refuse'; refusal: Refusal }

/** `wasSent`: an earlier failed claim broadcast a transaction, which may still be mined. */
export function decideClaim({
  refusal,
  wasSent,
  isPaid,
  isPayerTransaction,
}: {
  refusal: Refusal | undefined
  wasSent: boolean
  isPaid: boolean
  isPayerTransaction: boolean
}): ClaimDecision {
  if (isPaid) return { action: 'claim', basis: 'paid' }
  if (!refusal && isPayerTransaction) return { action: 'claim', basis: 'unused' }
  if (wasSent) return { action: 'answer-earlier' }
  return refusal ? { action: 'refuse', refusal } : { action: 'claim', basis: 'valid' }
}

export type Answer = 'duplicate' | 'mismatch' | 'failure' | 'report-success'

/** The answer to a request once its settlement is complete. */
export function decideAnswer(
  settlement: Pick<Settlement, 'status' | 'errorReason'>,
  { isRepeat }: { isRepeat: boolean },
): Answer {
  if (!isRepeat) return 'duplicate'
  if (isMismatched(settlement)) return 'mismatch'
  return settlement.status === 'settled' ? 'report-success' : 'failure'
}

/** Ignores the signature: one payment has many valid ones. */
export const isSamePayment = (one: Payment, other: Payment): boolean =>
  one.payTo === other.payTo &&
  one.amount === other.amount &&
  one.validUntil === other.validUntil &&
  one.transaction?.hash === other.transaction?.hash
