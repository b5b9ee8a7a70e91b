import {
  type Payment,
  type PaymentStatus,
  type TransactionRejected,
  type TransactionStatus,
} from '@tollgate/chains'
import { type Claim, type ClaimOutcome } from '../claims/claim'
import { claimOutcome, predatesClaim, mismatchOutcome } from '../claims/claim-outcome'

/** Decisions of the tracker. Nothing in this file asks the chain or writes. */

export type MinedVersion = Extract<TransactionStatus, { status: 'mined' }> & { hash: string }

export type NextStep =
  | { action: 'await-confirmations' }
  | { action: 'await-block' }
  | { action: 'rebroadcast' }
  | { action: 'resolve'; mined: MinedVersion }

/** `statuses` belong to `hashes`, the newest version first. Any version can be mined; only the newest is sent. */
export function nextStep(hashes: readonly string[], statuses: readonly TransactionStatus[]): NextStep {
  for (const [index, status] of statuses.entries()) {
    const hash = hashes[index]
    if (status.status !== 'mined' || hash === undefined) continue
    return status.isConfirmed
      ? { action: 'resolve', mined: { ...status, hash } }
      : { action: 'await-confirmations' }
  }
  return { action: statuses[0]?.status === 'unknown' ? 'rebroadcast' : 'await-block' }
}

/** A claim's next state: its outcome, `retry` (validated and signed again) or `wait` (its transaction stays open). */
export type Decision =
  | { action: 'complete'; outcome: ClaimOutcome }
  | { action: 'retry' }
  | { action: 'wait' }

const complete = (outcome: ClaimOutcome): Decision => ({ action: 'complete', outcome })
const RETRY: Decision = { action: 'retry' }
const WAIT: Decision = { action: 'wait' }

/** What a mined transaction did for the claim; undefined if only the payment's status can tell. */
export function outcomeInBlock(
  claim: Claim,
  payment: Payment,
  mined: MinedVersion,
  { isPayerSigned }: { isPayerSigned: boolean },
): ClaimOutcome | undefined {
  const transfer = { hash: mined.hash, blockNumber: mined.block.number }
  // The payer may have broadcast its own transaction before it was brought to us.
  const arrived = isPayerSigned && predatesClaim(claim, transfer.blockNumber)
  if (arrived && !claim.countsArrived) return undefined
  if (mined.settles(payment, claim.terms)) {
    const place = mined.placeOf(payment, claim.terms)
    return { status: 'settled', ...transfer, place, ...(arrived && { arrived }) }
  }
  return mined.differs(payment, claim.terms) ? mismatchOutcome(transfer) : undefined
}

export function decideByStatus(
  claim: Claim,
  status: PaymentStatus,
  { hashes }: { hashes: readonly string[] },
): Decision {
  switch (status.status) {
    case 'pending':
      return WAIT
    case 'settled':
    case 'void':
      return complete(claimOutcome(claim, status, hashes))
    case 'open':
      return RETRY
  }
}

/**
 * For a claim that its mined transaction did not settle. Its payer can cause an unknown status: the claim is retried, so that
 * it holds up neither our nonces nor the other payments. A payer's own transaction waits until its status is known.
 */
export function decideAfterMined(
  claim: Claim,
  status: PaymentStatus | 'unknown',
  { hashes, isPayerSigned }: { hashes: readonly string[]; isPayerSigned: boolean },
): Decision {
  if (status === 'unknown') return isPayerSigned ? WAIT : RETRY
  if (status.status === 'pending' && !isPayerSigned) return RETRY
  return decideByStatus(claim, status, { hashes })
}

export const hasExpired = ({ validUntil }: Payment, time: bigint): boolean =>
  validUntil !== undefined && time >= validUntil

/** For a claim that expired before its transaction was mined; undefined while it may still settle. */
export function expiredOutcome(
  status: PaymentStatus | 'unknown',
): Extract<ClaimOutcome, { status: 'failed' }> | undefined {
  if (status === 'unknown' || status.status !== 'void') return undefined
  // A transaction of ours may have used the nonce: what that one moved decides.
  if (status.usedIn) return undefined
  return { status: 'failed', reason: status.reason, detail: status.detail }
}

/** A transaction that a node rejected, or that stays unknown to it. */
export type UnsendableTransaction = {
  isPayerSigned: boolean
  /** No block includes it once its payments are decided, though it has a nonce of ours. */
  isCountersigned: boolean
  isNonceSpent: boolean
  isOld: boolean
  wasSubmitted: boolean
  hashes: readonly string[]
  statuses: readonly PaymentStatus[]
  rejection: Pick<TransactionRejected, 'verdict'> | undefined
  /** Undefined until asked; see the action `check-grant`. */
  isGrantMissing?: boolean
}

export type UnsendableStep =
  /** A block can still include it. */
  | { action: 'keep' }
  /** It was mined, and this node lags. */
  | { action: 'wait' }
  | { action: 'check-grant' }
  | { action: 'supersede'; cause: SupersedeCause }

export type SupersedeCause = 'nonce used' | 'payments decided' | 'fee grant missing' | 'never accepted'

export function resolveUnsendable(transaction: UnsendableTransaction): UnsendableStep {
  const { isPayerSigned, isNonceSpent, isOld, wasSubmitted, hashes, statuses, rejection } = transaction
  const { isGrantMissing, isCountersigned } = transaction
  const supersede = (cause: SupersedeCause): UnsendableStep => ({ action: 'supersede', cause })

  if (statuses.some((status) => status.status === 'settled' && hashes.includes(status.hash)))
    return { action: 'wait' }
  if (!isPayerSigned && isNonceSpent) return supersede('nonce used')
  if (!isPayerSigned && !isCountersigned) return { action: 'keep' }
  if (statuses.every(isDecided)) return supersede('payments decided')
  // A lagging node rejects what it accepts a moment later; a verdict on the transaction itself is final.
  if (!rejection || !(isOld || rejection.verdict)) return { action: 'keep' }
  if (isPayerSigned && isGrantMissing === undefined) return { action: 'check-grant' }
  if (isGrantMissing) return supersede('fee grant missing')
  return wasSubmitted ? { action: 'keep' } : supersede('never accepted')
}

const isDecided = ({ status }: PaymentStatus): boolean => status === 'void' || status === 'settled'

export function decideSuperseded(
  claim: Claim,
  status: PaymentStatus,
  {
    cause,
    hashes,
    rejection,
  }: {
    cause: SupersedeCause
    hashes: readonly string[]
    rejection: Pick<TransactionRejected, 'verdict' | 'message'> | undefined
  },
): Decision {
  if (cause !== 'never accepted' || status.status !== 'open') return decideByStatus(claim, status, { hashes })
  const { message = '', verdict } = rejection ?? {}
  const reason = verdict?.reason ?? 'invalid_transaction_state'
  return complete({ status: 'failed', reason, detail: verdict?.detail ?? message, isUnsent: true })
}
