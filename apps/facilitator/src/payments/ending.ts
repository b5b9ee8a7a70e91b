import { type Fate } from '@tollgate/chains'
import { type Claim, type Conclusion, type Mismatch } from './settler-store'

type Settled = Extract<Fate, { status: 'settled' }>
type Void = Extract<Fate, { status: 'void' }>

/**
 * How a claim ends by its payment's fate. A payment that was settled in a block that was there when it was claimed paid for something
 * else: it buys nothing here. `ours` are transactions of ours, beside those that were mined for it before.
 */
export function endOf(claim: Claim, fate: Settled | Void, ours: readonly string[] = []): Conclusion {
  if (fate.status === 'settled')
    return wasThere(claim, fate.blockNumber)
      ? failed(`settled in block ${fate.blockNumber}, before it was claimed`)
      : fate
  const { usedIn, reason, detail } = fate
  return usedIn && [...ours, ...claim.ownHashes].includes(usedIn.hash)
    ? mismatched(usedIn)
    : { status: 'failed', reason, detail }
}

/** Whether a settlement in the block may be from before the claim; a reorg may move one that was made since to such a height. */
export const wasThere = (claim: Claim, block: bigint): boolean =>
  mayHaveBeenThere(claim, block) && !claim.wasSettled

/**
 * Whether a node may have had the block, with a settlement in it, when the payment was claimed. By the state of `judgedBlock` it was
 * not settled: what is in a block up to there now was moved there by a reorg since.
 */
export const mayHaveBeenThere = (
  { judgedBlock, seenBlock }: Pick<Claim, 'judgedBlock' | 'seenBlock'>,
  block: bigint,
): boolean => block <= seenBlock && block > (judgedBlock ?? -1n)

/** Blocks that a node may be ahead of the one that judges; it leaves out nodes that state more. */
const MAX_LEAD = 256n

/** The highest block of any node at a claim, of those that may be of the same chain as the block `seen`. */
export const highestPlausible = (seen: bigint, heights: readonly bigint[]): bigint =>
  heights.reduce((most, height) => (height > most && height <= seen + MAX_LEAD ? height : most), seen)

/** The age of a node's newest block from which it may stand still. */
const MAX_HEAD_AGE_SECONDS = 60

/** Whether the node that judges stands still, as its newest block and another node say: what it lacks may hold the payment. */
export const isFarBehind = (
  head: { number: bigint; timestamp: number },
  heights: readonly bigint[],
  now: Date,
): boolean =>
  now.getTime() / 1000 - head.timestamp > MAX_HEAD_AGE_SECONDS &&
  heights.some((height) => height > head.number + MAX_LEAD)

/** Money was moved, and not as it was signed. */
export const mismatched = (mismatch: Mismatch): Conclusion => ({
  status: 'failed',
  reason: 'transfer_event_mismatch',
  detail: 'the asset moved another amount than the payment says, or names no transfer',
  mismatch,
})

const failed = (detail: string): Conclusion => ({
  status: 'failed',
  reason: 'invalid_transaction_state',
  detail,
})
