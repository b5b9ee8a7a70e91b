import { type Terms } from '@tollgate/chains'
import { type ReasonCode } from '@tollgate/protocol'

/** A claimed payment as it is stored; its chain family parses `payload`, which the payer signed. */
export type Claim = {
  id: bigint
  clientId: string
  /** The Idempotency-Key of the request that claimed it. */
  idempotencyKey: string | null
  requestId: string | null
  /** Of the request that claimed it, if its trace is sampled. */
  traceparent: string | null
  payer: string
  payload: unknown
  terms: Terms
  createdAt: Date
  /** The state of an older block does not count for this payment. */
  minBlock: bigint
  /** The newest block at the claim, if the payment's nonce was unused as of that block. */
  unspentAtBlock: bigint | null
  /** The highest block of any node at the claim. */
  seenBlock: bigint
  /** It was settled once; a reorg may have reversed that since. */
  wasSettled: boolean
  /** A transfer from before the claim counts: the recipient is reserved by the user who claimed it. */
  countsArrived: boolean
  /** It was found on chain when it was claimed. */
  arrived: boolean
  isAssetSuspended: boolean
  /** An operator denies its payer or recipient. */
  isDenied: boolean
  /** All versions of our transactions that were mined for it. */
  ownHashes: readonly string[]
  /** Transactions that were mined or superseded and did not settle it. */
  attempts: number
  /** A hash is stored, perhaps never broadcast: anyone who has the authorization can settle it. */
  hasTransaction: boolean
  isRetryRequested: boolean
  /** Success was reported: from then on it can be reversed, and never fails. */
  isReported: boolean
}

/** A transaction of ours executed the payment and moved another amount. */
export type Mismatch = { hash: string; blockNumber: bigint }

/**
 * `hash` is the transaction of the transfer, ours or a third party's, and `place` tells which of its transfers, if that is known;
 * `arrived`: it is from before the claim. `detail` is for the payer and the log.
 */
export type ClaimOutcome =
  | { status: 'settled'; hash: string; blockNumber: bigint; place?: string | undefined; arrived?: true }
  | {
      status: 'failed'
      reason: ReasonCode
      detail: string
      mismatch?: Mismatch
      /** No node accepted the signed transaction: only its payer can have settled the payment. */
      isUnsent?: true
    }
