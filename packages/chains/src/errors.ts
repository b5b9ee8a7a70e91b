import { type Refusal } from './family'

/** No usable response: every endpoint failed or timed out, or the responding node lacks blocks that exist. Nothing is known. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/**
 * The nodes refuse a signed transaction, and a retry would not help. Check `ChainPayments.paymentStatus` before failing the payment:
 * another transaction may have settled it.
 */
export class TransactionRejected extends Error {
  override readonly name = 'TransactionRejected'
  /** Set if the transaction itself is at fault, and not the state of the chain. */
  readonly verdict: Refusal | undefined

  constructor(message: string, { verdict, cause }: { verdict?: Refusal; cause?: unknown } = {}) {
    super(message, { cause })
    this.verdict = verdict
  }
}

export type SignerFailure = 'unreachable' | 'timeout' | 'refused' | 'invalid'

/** The service that holds a signer's key gave no usable signature. Nothing was signed that could be broadcast. */
export class SignerUnavailable extends Error {
  override readonly name = 'SignerUnavailable'

  /** The message holds no URL. */
  constructor(
    readonly failure: SignerFailure,
    message: string,
  ) {
    super(message)
  }
}

/** The node has just started and cannot check transactions before its first block. */
export class NodeStarting extends ChainUnavailable {}
