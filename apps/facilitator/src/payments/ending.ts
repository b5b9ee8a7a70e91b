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

/** Whether the block was there when the payment was claimed; a reorg may move what was settled since to such a height. */
export const wasThere = ({ seenBlock, wasSettled }: Claim, block: bigint): boolean =>
  block <= seenBlock && !wasSettled

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
