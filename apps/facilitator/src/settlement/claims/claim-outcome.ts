import { type PaymentStatus } from '@tollgate/chains'
import { type Claim, type ClaimOutcome, type Mismatch } from './claim'

type Settled = Extract<PaymentStatus, { status: 'settled' }>
type Void = Extract<PaymentStatus, { status: 'void' }>

/** `hashes`: versions of our transaction that may have used the payment, besides those mined for it before. */
export function claimOutcome(
  claim: Claim,
  status: Settled | Void,
  hashes: readonly string[] = [],
): ClaimOutcome {
  if (status.status === 'settled') {
    if (!predatesClaim(claim, status.blockNumber)) return status
    return claim.countsArrived
      ? { ...status, arrived: true }
      : failed(`settled in block ${status.blockNumber}, before it was claimed`)
  }
  const { usedIn, reason, detail } = status
  return usedIn && [...hashes, ...claim.ownHashes].includes(usedIn.hash)
    ? mismatchOutcome(usedIn)
    : { status: 'failed', reason, detail }
}

/** Not after this claim was settled once: a reorg can move that settlement to such a height; see ADR 25. */
export const predatesClaim = (claim: Claim, block: bigint): boolean =>
  mayHaveBeenThere(claim, block) && !claim.wasSettled

/** Whether a node may have had the block, with a settlement in it, at the time of the claim. */
export const mayHaveBeenThere = (
  { unspentAtBlock, seenBlock }: Pick<Claim, 'unspentAtBlock' | 'seenBlock'>,
  block: bigint,
): boolean => block <= seenBlock && block > (unspentAtBlock ?? -1n)

/** Blocks. A node further ahead of the verifying one is ignored. */
const MAX_LEAD = 256n

export const highestPlausible = (headBlock: bigint, heights: readonly bigint[]): bigint =>
  heights.reduce(
    (most, height) => (height > most && height <= headBlock + MAX_LEAD ? height : most),
    headBlock,
  )

const MAX_HEAD_AGE_SECONDS = 60

/** Whether the verifying node is stuck: the blocks that it lacks may hold the payment. */
export const isFarBehind = (
  head: { number: bigint; timestamp: number },
  heights: readonly bigint[],
  now: Date,
): boolean =>
  now.getTime() / 1000 - head.timestamp > MAX_HEAD_AGE_SECONDS &&
  heights.some((height) => height > head.number + MAX_LEAD)

export const mismatchOutcome = (mismatch: Mismatch): ClaimOutcome => ({
  status: 'failed',
  reason: 'transfer_event_mismatch',
  detail: 'the asset moved another amount than the payment says, or names no transfer',
  mismatch,
})

const failed = (detail: string): ClaimOutcome => ({
  status: 'failed',
  reason: 'invalid_transaction_state',
  detail,
})
