import type { Ecosystem, NetworkName, ReasonCode } from '@tollgate/protocol'

/** How a network is reached. */
export type Nodes = Pick<NetworkName, 'name' | 'chainId'> & {
  /** Tried in order; the first that answers is used. One that is on another chain is passed over. */
  rpcUrls: readonly string[]
  /** Of each attempt. */
  rpcTimeoutMs: number
}

/** A network, and what our keys may spend there. Times are in seconds unless the name says otherwise. */
export type NetworkSettings = NetworkName &
  Nodes & {
    /** Private keys of the settlement signers: secrets, never logged. */
    signerKeys: readonly string[]
    /** Blocks on top of and including the transaction's own before a settlement counts. */
    confirmations: number
    /** How long a settlement may take from signature to confirmation: an authorization must outlive it. */
    confirmationBudgetSeconds: number
    /** In the native smallest unit per unit of gas; dearer than this is not sent. */
    maxFeePerGas: bigint
    /** Gas a single settlement may use. */
    maxGas: bigint
  }

/** A token as its own chain describes it; `name` and `version` are its EIP-712 domain, where it has one. */
export type Token = { asset: string; symbol: string; decimals: number; name?: string; version?: string }

/** Why no payment is taken in a token. */
export type Unfit = {
  /** A sentence for whoever wants it registered. */
  problem: string
  /**
   * Proven of the token itself: not that the request is wrong, that the node cannot try the token out, or that the token
   * takes no payment at present.
   */
  isTokensFault: boolean
  /** The contract's own, where others were wanted. */
  decimals?: number
}

export type SignInProof = { message: string; address: string; signature: string; pubkey?: string }

/** A signed payment, read and spelled canonically; nothing in it is checked yet. A family adds what it signs. */
export type Payment = {
  payer: string
  payTo: string
  /** Smallest units. */
  amount: bigint
  /** Unique among the payments of `payer` in one asset: an EIP-3009 nonce, an account sequence. */
  nonce: string
  /** Unix seconds of chain time from which on nobody can settle it any more; undefined where it never lapses. */
  validUntil?: bigint
}

/** What the payment must satisfy, from sources the payer has no hand in. `extra` is the caller's word, only ever compared. */
export type Terms = {
  token: Token
  payTo: string
  amount: bigint
  extra?: Readonly<Record<string, unknown>>
}

/** Why a payment is not taken. `detail` is for the log. */
export type Refusal = { reason: ReasonCode; detail: string }

export type SignedTransaction = { raw: string; hash: string }

/**
 * What became of a transaction: `unknown` to the node (send it again), `pending` (not mined, or not yet confirmed),
 * `settled` (its receipt succeeded and the asset's Transfer names exactly payer, recipient and amount), or `failed`.
 * `fee` is what the network charged us, in its native smallest unit.
 */
export type Outcome =
  | { status: 'unknown' }
  | { status: 'pending' }
  | { status: 'settled'; hash: string; blockNumber: bigint; fee: bigint }
  | { status: 'failed'; reason: ReasonCode; detail: string; blockNumber: bigint; fee: bigint }

/**
 * The chain could not be asked: every RPC endpoint refused, timed out or answered nonsense, or the one that answered lacks
 * blocks that are known to exist. Nothing is known.
 */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/**
 * The node will not take a signed transaction, and more time would not change that: its nonce is used, its signer cannot
 * pay the gas. Ask `findSettled` before giving up the payment: somebody else may have settled it.
 */
export class TransactionRejected extends Error {
  override readonly name = 'TransactionRejected'
}

/** One network. Every call has a timeout, and rejects with `ChainUnavailable` where the network gives no answer. */
export type Chain<P extends Payment = Payment> = {
  readonly network: NetworkName
  /** Addresses that can sign settlements; the first is shown as the fee payer. */
  readonly signers: readonly string[]
  /** The newest block; `timestamp` in Unix seconds. Both are safe integers. */
  head(): Promise<{ number: bigint; timestamp: number }>
  /**
   * The token as its chain describes it, where payments can be taken in it: it is what is `wanted`, and its way of paying
   * was tried out on the chain's present state, without anything being sent. Bounded in time and gas, whatever the token does.
   */
  vetToken(wanted: Pick<Token, 'asset' | 'decimals'>): Promise<Token | Unfit>
  /** Why no payment could ever meet these terms, whoever signs it; undefined where one could. Asks no network. */
  checkTerms(terms: Terms): Refusal | undefined
  /** All checks, cheap ones first; undefined means the payment would settle now. */
  verify(payment: P, terms: Terms, now: Date): Promise<Refusal | undefined>
  /** The nonce that the next transaction of `signer` takes, as the chain sees it (pending included). */
  nextNonce(signer: string): Promise<bigint>
  /** Signs the settlement of `payment`; nothing is sent. A refusal where the network's fees are past the cap. */
  sign(
    payment: P,
    terms: Terms,
    from: { signer: string; nonce: bigint },
  ): Promise<SignedTransaction | Refusal>
  /** Sends a signed transaction; one that the network already knows is no error. May reject with `TransactionRejected`. */
  broadcast(transaction: SignedTransaction): Promise<void>
  outcome(hash: string, payment: P, terms: Terms): Promise<Outcome>
  /**
   * The transfer of this very payment, whoever sent it: an authorization may be taken from the open and sent first.
   * `pending` while it lacks confirmations: ask again. Undefined holds as of block `seen` at least, whichever node answers;
   * rejects with `ChainUnavailable` where that cannot be told.
   */
  findSettled(
    payment: P,
    terms: Terms,
    seen?: bigint,
  ): Promise<Extract<Outcome, { status: 'settled' | 'pending' }> | undefined>
  close(): void
}

/** One kind of chain: how its wallets are named, sign in and pay. A plain record; adding one is adding a folder. */
export type Family<P extends Payment = Payment> = {
  readonly ecosystem: Ecosystem
  /** The canonical spelling of an address; undefined where `text` is none. */
  parseAddress(text: string): string | undefined
  /** Whether the proof's address signed its message, checked without a network. */
  verifySignIn(proof: SignInProof): boolean
  /**
   * Whether the proof's address is a contract that vouches for the signature, as all nodes that answer agree; absent where
   * wallets are never contracts. Rejects with `ChainUnavailable` where no node answers.
   */
  verifyContractSignIn?(proof: SignInProof, nodes: Nodes): Promise<boolean>
  /** Reads the family's part of a payment payload; undefined where it cannot be read. */
  readPayment(payload: unknown): P | undefined
  connect(settings: NetworkSettings): Chain<P>
}
