import { type Payment, type PaymentStatus, type Refusal, type Transfer } from '@tollgate/chains'
import { mayHaveBeenThere } from '../settlement/claims/claim-outcome'
import { isMismatched } from '../settlement/status'
import {
  type ClaimBasis,
  type ClaimEvidence,
  type EarlierClaim,
  type KeyRelation,
  type Requester,
  type Settlement,
} from './store'

/**
 * Whether the request repeats the one that claimed the settlement: under the same client key, under a key of the same user that
 * replaces it, or, until success is reported, under any key of that user with the same Idempotency-Key.
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

const hasSameIdempotencyKey = (one: WithIdempotencyKey, other: WithIdempotencyKey): boolean =>
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

export type ClaimFacts = {
  refusal: Refusal | undefined
  /** The failed earlier claim, if it broadcast a transaction, which may still be mined. */
  sent: Settlement | undefined
  /** The earlier claim was for this payment, not for another one under its nonce. */
  isSamePayment: boolean
  /** See `paidBlockOf`. */
  paidBlock: bigint | undefined
  /** The transfer that made the payment before it was presented, to the caller's own recipient. */
  arrived?: Transfer | undefined
  isOwnRecipient?: boolean
  isPayerTransaction: boolean
  /** The newest block of the node that verified the payment. */
  headBlock: bigint
  /** The newest plausible block of any node. */
  highestBlock: bigint
  /** The payment's nonce was unused in `headBlock`. */
  isUnspent: boolean
}

export type ClaimDecision =
  | { action: 'claim'; evidence: ClaimEvidence }
  | { action: 'answer-earlier'; settlement: Settlement }
  | { action: 'refuse'; refusal: Refusal }

export function decideClaim(facts: ClaimFacts): ClaimDecision {
  const { refusal, sent, paidBlock, arrived, isPayerTransaction } = facts
  if (paidBlock !== undefined) return claimOn('paid', facts)
  if (arrived) return claimOn('arrived', facts)
  if (!refusal && isPayerTransaction) return claimOn('unused', facts)
  if (sent) return { action: 'answer-earlier', settlement: sent }
  return refusal ? { action: 'refuse', refusal } : claimOn('valid', facts)
}

const claimOn = (
  basis: ClaimBasis,
  { isSamePayment, paidBlock, arrived, isOwnRecipient, headBlock, highestBlock, isUnspent }: ClaimFacts,
): ClaimDecision => ({
  action: 'claim',
  evidence: {
    basis,
    // A node may announce a block before it serves its state. The other two were read from the state itself.
    minBlock: paidBlock ?? arrived?.blockNumber ?? headBlock - 1n,
    unspentAtBlock: isUnspent ? headBlock : null,
    seenBlock: highestBlock,
    isSamePayment,
    ...(isOwnRecipient && { isOwnRecipient }),
    ...(arrived && { arrived }),
  },
})

/**
 * A block by which a payment that we broadcast before was paid, by any sender. A transfer that may predate the earlier claim
 * paid for something else.
 */
export function paidBlockOf(
  status: PaymentStatus,
  earlierClaim: Pick<EarlierClaim, 'unspentAtBlock' | 'seenBlock'>,
  headBlock: bigint,
): bigint | undefined {
  if (status.status === 'pending') return headBlock
  if (status.status !== 'settled' || mayHaveBeenThere(earlierClaim, status.blockNumber)) return undefined
  return status.blockNumber > headBlock ? status.blockNumber : headBlock
}

export type UnclaimedDecision =
  | { action: 'answer-concurrent'; settlement: Settlement }
  | { action: 'refuse'; refusal: Refusal }
  | { action: 'report-too-late' }

/**
 * For a request that did not claim. A concurrent request may have claimed the payment, and its settlement may be why the chain
 * refuses ours.
 */
export function decideUnclaimed({
  concurrent,
  isReclaimable,
  refusal,
}: {
  concurrent: Settlement | undefined
  isReclaimable: boolean
  refusal: Refusal | undefined
}): UnclaimedDecision {
  if (concurrent && !(refusal && isReclaimable))
    return { action: 'answer-concurrent', settlement: concurrent }
  return refusal ? { action: 'refuse', refusal } : { action: 'report-too-late' }
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
