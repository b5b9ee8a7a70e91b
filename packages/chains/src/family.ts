import type { Ecosystem, NetworkName, ReasonCode } from '@tollgate/protocol'
import type { z } from 'zod'

/** How a network is reached. */
export type Nodes = Pick<NetworkName, 'name' | 'chainId'> & {
  /** Tried in order; the first that answers is used. One that is on another chain is passed over. */
  rpcUrls: readonly string[]
  /** Of each attempt. */
  rpcTimeoutMs: number
}

/**
 * A network, and what our keys may spend there: what every family is told. Times are in seconds unless the name says
 * otherwise.
 */
export type NetworkSettings = NetworkName &
  Nodes & {
    /** Private keys of the settlement signers: secrets, never logged. */
    signerKeys: readonly string[]
    /** Blocks on top of and including the transaction's own before a settlement counts. */
    confirmations: number
    /** How long a settlement may take from signature to confirmation: an authorization must outlive it. */
    confirmationBudgetSeconds: number
    /** Gas a single settlement may use. */
    maxGas: bigint
    /** What the fees of a day may come to, in the native smallest unit; undefined where nobody set a cap. */
    maxFeesPerDay?: bigint
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
  /** The transaction that pays, where the payer signed a whole one: it is sent as it is, and never replaced. */
  transaction?: SignedTransaction
}

/** What the payment must satisfy, from sources the payer has no hand in. `extra` is the caller's word, only ever compared. */
export type Terms = {
  token: Token
  payTo: string
  amount: bigint
  extra?: Readonly<Record<string, unknown>>
}

/** Why a payment is not taken. `detail` is for the log. */
export type Refusal = {
  reason: ReasonCode
  detail: string
  /** The chain says that the payment's nonce is taken, whoever took it: nothing but a reorg gives it back. */
  isSpent?: true
}

/**
 * What can be said of a payment without its network, where nothing refuses it: `valid` if the payer's own key signed it,
 * `not-by-key` if the payer can only be a contract that vouches for the signature, `unknown` if only the chain can say.
 */
export type OfflineResult = Refusal | { signature: 'valid' | 'not-by-key' | 'unknown' }

/** A payment that waits to be sent, and what it is to settle. */
export type Due<P extends Payment = Payment> = {
  payment: P
  terms: Terms
  /** Not to share a transaction with others: it went wrong once. */
  isAlone: boolean
  /** Other payments of its payer are on their way. */
  isBehind: boolean
}

export type SignedTransaction = { raw: string; hash: string }

/** One of ours. `cost`: what it may cost at most, and all that it lets payers spend of ours, in the native smallest unit. */
export type OwnTransaction = SignedTransaction & { cost: bigint }

/** What a transaction that its payer signed whole asks of us. */
export type Sponsorship = {
  /** Its fee, in the native smallest unit, where we bear it; 0 where its payer does. */
  fee: bigint
  /** Whether it can be sent now: otherwise a transaction of ours, which `sign` makes, has to be mined first. */
  isReady: boolean
}

export type BlockId = { number: bigint; hash: string }

/**
 * What became of a transaction: `unknown` to the node (send it again), `waiting` to be mined, or `mined` in a block that the
 * chain has at its height. It counts when `isConfirmed`: so deep as the network's settings ask.
 */
export type Inspection<P extends Payment = Payment> =
  | { status: 'unknown' }
  | { status: 'waiting' }
  | {
      status: 'mined'
      block: BlockId
      isConfirmed: boolean
      /** Of the transaction as a whole: one that carries many payments may succeed where one of them does not. */
      succeeded: boolean
      /** What the network charged us, in its native smallest unit; 0 where somebody else paid. */
      fee: bigint
      /** Whether the asset's own events in it name exactly this payment's payer, recipient and amount. */
      settles(payment: P, terms: Terms): boolean
      /** Whether it carried the payment out, by the asset's own events, and moved something else than the payment says. */
      differs(payment: P, terms: Terms): boolean
    }

/**
 * What became of a payment on its chain, whoever sent it: `open` while nobody has settled it and somebody still may,
 * `pending` while that lacks confirmations, `settled`, or `void`: no block to come can settle it, for it has lapsed, was
 * cancelled, or was used for something else.
 */
export type Fate =
  | { status: 'open' }
  | { status: 'pending' }
  | { status: 'settled'; hash: string; blockNumber: bigint }
  | ({
      status: 'void'
      /** The transaction that used the payment's nonce for another transfer, where one is found. */
      usedIn?: { hash: string; blockNumber: bigint }
    } & Refusal)

/**
 * The chain could not be asked: every RPC endpoint refused, timed out or answered nonsense, or the one that answered lacks
 * blocks that are known to exist. Nothing is known.
 */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/**
 * The node will not take a signed transaction, and more time would not change that: its nonce is used, its signer cannot
 * pay the gas. Ask for the `fate` of a payment before giving it up: somebody else may have settled it.
 */
export class TransactionRejected extends Error {
  override readonly name = 'TransactionRejected'
  /** Why, where it is the transaction itself, and no state of the chain, that keeps every node from taking it. */
  readonly verdict: Refusal | undefined

  constructor(message: string, { verdict, cause }: { verdict?: Refusal; cause?: unknown } = {}) {
    super(message, { cause })
    this.verdict = verdict
  }
}

/** The node was started a moment ago, and cannot judge transactions before its first block. Nothing is known. */
export class NodeStarting extends ChainUnavailable {}

/** What the nodes of a network lack that payments need. */
export type NodesCheck = {
  /** One sentence for each node that lacks something; it names the node by its place in the configuration. */
  problems: readonly string[]
  /** Whether some node lacks nothing, or gave no answer. */
  isUsable: boolean
}

/** One network. Every call has a timeout, and rejects with `ChainUnavailable` where the network gives no answer. */
export type Chain<P extends Payment = Payment> = {
  readonly network: NetworkName
  /** Addresses that can sign settlements. */
  readonly signers: readonly string[]
  /** Whoever pays the network's fees for settlements; undefined where payers pay their own. */
  readonly feePayer: string | undefined
  /** What a signer should hold for fees, in the native smallest unit, unless operators say otherwise. */
  readonly ampleFunds: bigint
  /** The newest block; `timestamp` in Unix seconds. Both are safe integers. */
  head(): Promise<{ number: bigint; timestamp: number }>
  /** Asks each node for what payments need of it; absent where every node has that. */
  checkNodes?(): Promise<NodesCheck>
  /** How far the nodes are that answer within a second; none where the network has one RPC URL, as `head` asks that. */
  heights(): Promise<readonly bigint[]>
  /** The extensions of x402 version 2 that payments here may use, by what the network has deployed. */
  extensions(): Promise<string[]>
  /**
   * The token as its chain describes it, where payments can be taken in it: it is what is `wanted`, and its way of paying
   * was tried out on the chain's present state, without anything being sent. Bounded in time and gas, whatever the token does.
   */
  vetToken(wanted: Pick<Token, 'asset' | 'decimals'>): Promise<Token | Unfit>
  /** Why no payment could ever meet these terms, whoever signs it; undefined where one could. Asks no network. */
  checkTerms(terms: Terms): Refusal | undefined
  /**
   * All checks, cheap ones first; undefined means the payment would settle now. `reserved` of the payer's balance (smallest
   * units of the asset) is spoken for by payments of its that are on their way. `since`: a block by which it was good, or had
   * what must come before it; where nodes tell by which state they answer, none before it is judged by.
   */
  verify(payment: P, terms: Terms, now: Date, reserved?: bigint, since?: bigint): Promise<Refusal | undefined>
  /** What `signer` holds for fees, in the network's native smallest unit. */
  funds(signer: string): Promise<bigint>
  /** The nonce after all that is mined of `signer`, as the chain sees it. */
  nextNonce(signer: string): Promise<bigint>
  /** Whether a transaction of `signer` with this nonce is mined and confirmed: no other one ever will be. */
  isNonceSpent(signer: string, nonce: bigint): Promise<boolean>
  /**
   * Asked of payments that are transactions of their payers; absent where nothing of ours comes before them. Holds as of block
   * `since` at least, where nodes tell by which state they answer; rejects with `ChainUnavailable` where that cannot be told.
   */
  sponsorship?(payment: P, since?: bigint): Promise<Sponsorship>
  /**
   * What of `due` may share a transaction, in the order given; each of them is in one batch, be it alone in it. Where the
   * payer may be a contract, whose payments can all come to nothing when they are mined, they go one at a time: those behind
   * another of the same payer are in no batch.
   */
  batches<D extends Due<P>>(due: readonly D[]): Promise<D[][]>
  /**
   * Signs the transaction that settles a batch, or that has to come before its payers' own can be sent; nothing is sent. In a
   * batch of several each has its own result, and one that fails takes no other along. A refusal where the network's fees are
   * past the cap, or the batch as a whole would fail now: its payments may still settle one by one.
   */
  sign(batch: readonly Due<P>[], from: { signer: string; nonce: bigint }): Promise<OwnTransaction | Refusal>
  /**
   * The same transaction under fees that replace it, where those it offers no longer do; undefined where they do, or where the
   * cap allows no more. `isOverdue`: it has waited so long that it is to offer more anyway, until that is ample.
   */
  replace(
    transaction: SignedTransaction,
    from: { signer: string; isOverdue: boolean },
  ): Promise<OwnTransaction | undefined>
  /** Sends a signed transaction; one that the network already knows is no error. May reject with `TransactionRejected`. */
  broadcast(transaction: SignedTransaction): Promise<void>
  /** What became of the transaction with this hash. Of a payment it tells success only: ask for its `fate` otherwise. */
  inspect(hash: string): Promise<Inspection<P>>
  /** Blocks after which a transaction is never dropped again; the chain is looked back at until then. */
  readonly reorgDepth: bigint
  /** Whether the chain has this very block. Rejects with `ChainUnavailable` where a node is asked that is not that far yet. */
  includes(block: BlockId): Promise<boolean>
  /**
   * What became of the payment, whoever sent it. Holds as of block `seen` at least, whichever node answers; rejects with
   * `ChainUnavailable` where that cannot be told.
   * `void` holds whatever is mined or dropped from then on.
   */
  fate(payment: P, terms: Terms, seen?: bigint): Promise<Fate>
  /** Whether the payment's nonce was taken as of this very block; rejects with `ChainUnavailable` where no node that is asked has it. */
  isSpentAt(payment: P, terms: Terms, block: bigint): Promise<boolean>
  /** Whether the payment's nonce was taken so long ago that no reorg gives it back. */
  isSpentForGood(payment: P, terms: Terms): Promise<boolean>
  /**
   * Whether the asset failed the mined transaction `hash`, which carried this payment alone, though by the state of its block
   * and of the one before the same call succeeds, and nothing that the payer or the recipient did in that block explains it.
   * Absent where assets run no code.
   */
  failsOnlyWhenMined?(hash: string, payment: P, terms: Terms): Promise<boolean>
  close(): void
}

/**
 * One kind of chain: how its wallets are named, sign in and pay. A plain record; adding one is adding a folder. `S` is what its
 * networks are told beside what all are.
 */
export type Family<P extends Payment = Payment, S extends object = object> = {
  readonly ecosystem: Ecosystem
  /** Whether a chain of this kind can have this id. */
  isChainId(text: string): boolean
  /** The canonical spelling of an address; undefined where `text` is none. */
  parseAddress(text: string): string | undefined
  /** The canonical spelling of what is paid in, a token's address or a denomination; undefined where `text` is neither. */
  parseAsset(text: string): string | undefined
  /** Whether the proof's address signed its message, checked without a network. */
  verifySignIn(proof: SignInProof): boolean
  /**
   * Whether the proof's address is a contract that vouches for the signature, as all nodes that answer agree; absent where
   * wallets are never contracts. Rejects with `ChainUnavailable` where no node answers.
   */
  verifyContractSignIn?(proof: SignInProof, nodes: Nodes): Promise<boolean>
  /** Reads the family's part of a payment payload; undefined where it cannot be read. */
  readPayment(payload: unknown): P | undefined
  /**
   * Checks a payment against its terms, the chain's id and the time, and its signature as far as that needs no network. What it
   * refuses no facilitator would settle.
   */
  checkOffline(payment: P, terms: Terms, at: { chainId: string; now: Date }): OfflineResult
  /** Why payments are refused that pay somebody else, or another amount, than they should. */
  readonly mismatch: Readonly<Record<'payTo' | 'amount', ReasonCode>>
  /** Reads the family's own members of a network's configuration, each of them text; it takes no others. */
  readonly configuration: z.ZodType<S>
  connect(settings: NetworkSettings & S): Chain<P>
}
