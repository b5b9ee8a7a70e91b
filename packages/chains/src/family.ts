import type { Ecosystem, NetworkName, ReasonCode } from '@tollgate/protocol'
import type { z } from 'zod'

/** The RPC nodes of a network. */
export type Nodes = Pick<NetworkName, 'name' | 'chainId'> & {
  /** Tried in order. A node of another chain is skipped. */
  rpcUrls: readonly string[]
  /** Headers for the URL of the same place, which may be secrets; none by default. */
  rpcHeaders?: readonly Readonly<Record<string, string>>[]
  /** For each attempt. */
  rpcTimeoutMs: number
}

/**
 * Called with the method of each request to the nodes. What it returns is called with the name of the node that responded, as in
 * {@link NodeReport}, if any did.
 */
export type ObserveRequest = (method: string) => (response: { node?: string; isError: boolean }) => void

/** The settings that every family shares. */
export type NetworkSettings = NetworkName &
  Nodes & {
    /** Private keys of the settlement signers: secrets, never logged. */
    signerKeys: readonly string[]
    /** Further signers, whose keys another service holds. Only if the family `hasRemoteSigners`. */
    remoteSigners?: RemoteSignerSettings
    /** Blocks required for a settlement to count, including the block of the transaction. */
    confirmations: number
    /** A payment must stay valid at least this long, so that it can be confirmed in time. */
    minRemainingValiditySeconds: number
    /** Gas limit of a single settlement. */
    maxGas: bigint
    /** The daily fee limit, in the native smallest unit; undefined means no limit. */
    maxFeesPerDay?: bigint
  }

/** A service with the API of Web3Signer (`/api/v1/eth1`), and the keys of it that sign. */
export type RemoteSignerSettings = {
  url: string
  /** Uncompressed public keys: 128 hex digits, see `publicPoint`. */
  publicPoints: readonly string[]
  /** A bearer token: a secret, never logged. */
  token?: string
  /** PEM: the certificate authority, and the client certificate with its key. */
  tls?: { ca?: string; cert?: string; key?: string }
  /** For each request. */
  timeoutMs: number
}

/**
 * `name` and `version` are the token's EIP-712 domain. `assetTransferMethod`: what x402 requirements in it say if it takes no EIP-3009
 * authorizations; it has a domain then only if it takes permits of EIP-2612.
 */
export type Token = {
  asset: string
  symbol: string
  decimals: number
  name?: string
  version?: string
  assetTransferMethod?: 'permit2'
}

/** Why a token cannot be used for payments. */
export type TokenProblem = {
  /** A sentence for the user who registers the token. */
  problem: string
  /** True if the token itself is proven faulty; false if the request is wrong, the token is paused or the node cannot test it. */
  isTokensFault: boolean
  /** The token's own decimals, if the request gave others. */
  decimals?: number
}

export type SignInProof = { message: string; address: string; signature: string; pubkey?: string }

/** A parsed payment in canonical spelling; nothing is checked yet. Each family adds its signed fields. */
export type Payment = {
  payer: string
  payTo: string
  /** Smallest units. */
  amount: bigint
  /** Unique per payer and asset: an EIP-3009 nonce, an account sequence. */
  nonce: string
  /** Unix seconds of chain time: the payment cannot settle from then on. Undefined means that it never expires. */
  validUntil?: bigint
  /** The payer's own signed transaction, if it is the payment: broadcast unchanged, never replaced. */
  transaction?: SignedTransaction
  /**
   * The payer signed a transaction that our signer signs too, to pay this fee. Unlike other transactions of ours, no block includes it
   * once the payment is void.
   */
  countersigned?: { fee: bigint }
}

/** What the payment must satisfy. The payer controls only `extra`, which is compared and never trusted. */
export type Terms = {
  token: Token
  payTo: string
  amount: bigint
  extra?: Readonly<Record<string, unknown>>
}

/** Why a payment is refused. */
export type Refusal = {
  reason: ReasonCode
  /** A clause for the log and for the client's error message. */
  detail: string
  /** The payment's nonce is used on chain, by this payment or another; only a reorg can undo that. */
  isSpent?: true
}

/**
 * The result of the checks that need no network. `valid`: signed by the payer's own key. `not-by-key`: only a contract
 * wallet could accept the signature; `refusal` is for a payer without one. `unknown`: only the chain can tell.
 */
export type OfflineResult = Refusal | OfflineSignature
export type OfflineSignature =
  | { signature: 'valid' | 'unknown' }
  | { signature: 'not-by-key'; refusal: Refusal }

/** A verified payment that waits for a transaction. */
export type PendingPayment<P extends Payment = Payment> = {
  payment: P
  terms: Terms
  /** Must not share a transaction, because an earlier attempt failed. */
  isAlone: boolean
  /** Other payments of this payer are in flight. */
  isBehind: boolean
}

export type SignedTransaction = { raw: string; hash: string }

/** A transaction of our signer. `cost`: its maximum fee plus every fee allowance that it grants, in the native smallest unit. */
export type OwnTransaction = SignedTransaction & { cost: bigint }

/** The same before its signature. `bytes`: what the key of `signer` signs. */
export type UnsignedTransaction = Pick<OwnTransaction, 'cost'> & {
  signer: string
  bytes: Uint8Array
  /** Those of other accounts, if it needs any. */
  signatures?: readonly Uint8Array[]
}

/** Whether we pay the network fee of a payer's own transaction. */
export type Sponsorship = {
  /** The fee that we pay, in the native smallest unit; 0 if the payer pays it. */
  fee: bigint
  /** False if a transaction of ours (see `ChainSigner.prepare`) must be mined first. */
  isReady: boolean
}

export type BlockId = { number: bigint; hash: string }

/** `unknown`: the node does not have it, so broadcast it again. `mined` means mined in the current chain. */
export type TransactionStatus<P extends Payment = Payment> =
  | { status: 'unknown' }
  | { status: 'waiting' }
  | {
      status: 'mined'
      block: BlockId
      /** Has the confirmations that the network's settings require. */
      isConfirmed: boolean
      /** Of the transaction as a whole: a single payment of a successful batch can still have failed. */
      succeeded: boolean
      /** The fee that we paid, in the native smallest unit; 0 if another account paid. */
      fee: bigint
      /** Whether the asset's events show exactly this payment's payer, recipient and amount. */
      settles(payment: P, terms: Terms): boolean
      /** See {@link Transfer}; undefined if it does not settle the payment. */
      placeOf(payment: P, terms: Terms): string | undefined
      /** Whether the asset's events show that the payment was executed with another amount or recipient. */
      differs(payment: P, terms: Terms): boolean
    }

/**
 * The status of a payment on its chain, whichever transaction settles it. `pending`: used on chain, not yet confirmed.
 * `void`: expired, cancelled or used for another transfer; final at any height.
 */
export type PaymentStatus =
  | { status: 'open' }
  | { status: 'pending' }
  | { status: 'settled'; hash: string; blockNumber: bigint }
  | ({
      status: 'void'
      /** The transaction that used the payment's nonce for another transfer, if found. */
      usedIn?: { hash: string; blockNumber: bigint }
    } & Refusal)

/** The transfer that made a payment, in whichever transaction. */
export type Transfer = {
  hash: string
  blockNumber: bigint
  /** Unix seconds of its block. */
  time: bigint
  /** Which of the asset's transfers of the payer in this transaction. */
  place: string
}

export type NodesCheck = {
  /** One sentence per faulty node, which it names by its position in the configuration. */
  problems: readonly string[]
  /** False only if every node responds and every one is faulty. */
  isUsable: boolean
}

/** One RPC node, as this process sees it. */
export type NodeReport = {
  /** Its host, for operators: never a path, a query or credentials, which may hold a key. */
  name: string
  /** Its newest block; undefined if it did not return one within a second. */
  height: bigint | undefined
  /** The latest request that it gave no usable response to; the message holds no URL. */
  lastFailure: { message: string; agoMs: number } | undefined
  /** Since its first failure after its latest response; undefined if its latest response was good. */
  failingForMs: number | undefined
}

/** The RPC nodes of a network, taken together. */
export type ChainNode<P extends Payment = Payment> = {
  /** The newest block; `timestamp` in Unix seconds. Both are safe integers. */
  head(): Promise<{ number: bigint; timestamp: number }>
  /** The heights of the nodes that respond within a second; empty if the network has a single RPC URL. */
  heights(): Promise<readonly bigint[]>
  /** Each node, in the order of the configuration, within a second. Never rejects. */
  inspect(): Promise<readonly NodeReport[]>
  /** Checks that each node offers what payments need; undefined if any node of this family does. */
  check?(): Promise<NodesCheck>
  /** Blocks after which no reorg drops a transaction. */
  readonly reorgDepth: bigint
  /** Whether the block is in the current chain. Rejects with `ChainUnavailable` if the node has not reached its height. */
  includes(block: BlockId): Promise<boolean>
  /** Idempotent. Rejects with `TransactionRejected` if the nodes refuse the transaction for good. */
  broadcast(transaction: SignedTransaction): Promise<void>
  /** Proves that a payment settled, never that it failed: for that, see `ChainPayments.paymentStatus`. */
  transactionStatus(hash: string): Promise<TransactionStatus<P>>
}

/** The accounts that sign settlements. */
export type ChainSigner<P extends Payment = Payment> = {
  readonly addresses: readonly string[]
  /** The account that pays the network fees of settlements; undefined if payers pay their own. */
  readonly feePayer: string | undefined
  /** The fee payer also signs transactions of payers, which name it as theirs: see `Payment.countersigned`. */
  readonly signsForPayers?: true
  /** The default low-balance threshold of a signer, in the native smallest unit. */
  readonly balanceThreshold: bigint
  /** The currency of network fees: `decimals` from its smallest unit; no symbol if the settings do not tell it. */
  readonly currency: { symbol?: string; decimals: number }
  /** The signer's balance for fees, in the native smallest unit. */
  funds(signer: string): Promise<bigint>
  /** The signer's next nonce; counts mined transactions only. */
  nextNonce(signer: string): Promise<bigint>
  /** False while another service holds the signer's key and gives no signatures: nothing should be signed until it is true. */
  isAvailable(signer: string): Promise<boolean>
  /** Why the service that holds the signer's key cannot sign; undefined if it can, or if this process holds the key. */
  findProblem(signer: string): Promise<string | undefined>
  /** Whether a confirmed transaction of the signer has this nonce, so that no other transaction can use it. */
  isNonceSpent(signer: string, nonce: bigint): Promise<boolean>
  /**
   * The transaction that settles a batch or that must be mined before its payers' own. In a batch of several, each payment
   * succeeds or fails on its own. Refuses if the network's fees exceed the cap, or if the batch as a whole would fail; its
   * payments may still settle one at a time. Asks the nodes, and needs no signature.
   */
  prepare(
    batch: readonly PendingPayment<P>[],
    from: { signer: string; nonce: bigint },
  ): Promise<UnsignedTransaction | Refusal>
  /** Asks no node, and sends nothing. Rejects with `SignerUnavailable` if there is no signature by the signer's key. */
  sign(transaction: UnsignedTransaction): Promise<OwnTransaction>
  /**
   * The same transaction with higher fees; undefined if its fees suffice or the cap allows no more. `isOverdue`: raise the
   * fees of a transaction that has waited too long, even if they cover the current price.
   */
  replace(
    transaction: SignedTransaction,
    from: { signer: string; isOverdue: boolean },
  ): Promise<OwnTransaction | undefined>
  /**
   * The same transaction under another nonce; undefined if both could be mined. Only if transactions of ours can leave a nonce unused
   * that others wait for.
   */
  moveTo?(
    transaction: SignedTransaction,
    to: { signer: string; nonce: bigint },
  ): Promise<OwnTransaction | undefined>
  /** A transaction that settles nothing and uses a nonce, for one that others wait for and none can move to. Goes with `moveTo`. */
  fill?(at: { signer: string; nonce: bigint }): Promise<OwnTransaction>
}

export type VerifyRequest<P extends Payment = Payment> = {
  payment: P
  terms: Terms
  now: Date
  /** The part of the payer's balance that its other payments in flight need, in smallest units; 0 by default. */
  reserved?: bigint | undefined
  /** State older than this block is not used, if nodes report the height of their state; 0 by default. */
  minBlock?: bigint | undefined
}

export type PaymentStatusRequest<P extends Payment = Payment> = {
  payment: P
  terms: Terms
  /** The status holds as of this block or a later one; 0 by default. */
  minBlock?: bigint | undefined
}

export type FindTransferRequest<P extends Payment = Payment> = PaymentStatusRequest<P> & {
  /** Unix seconds: an older transfer need not be found. */
  since: bigint
}

export type ChainPayments<P extends Payment = Payment> = {
  /** The x402 version 2 extensions that the network's deployed contracts support. */
  extensions(): Promise<string[]>
  /** Refuses terms that no payment could meet. Uses no network. */
  checkTerms(terms: Terms): Refusal | undefined
  /** Runs all checks; undefined means that the payment would settle now. */
  verify(request: VerifyRequest<P>): Promise<Refusal | undefined>
  /**
   * For payments that are transactions of their payers; undefined if we never pay their fees. Rejects with
   * `ChainUnavailable` if the node's state may be older than `minBlock`.
   */
  sponsorship?(payment: P, minBlock?: bigint): Promise<Sponsorship>
  /**
   * Groups payments that may share a transaction, in the given order. A payer that may be a contract gets one payment at
   * a time, because its code can make its other payments fail; its later payments are left out.
   */
  batches<D extends PendingPayment<P>>(pending: readonly D[]): Promise<D[][]>
  /**
   * The status of a payment, whichever transaction settles it. Rejects with `ChainUnavailable` if the node may lack block
   * `minBlock`. `void` is final at any height.
   */
  paymentStatus(request: PaymentStatusRequest<P>): Promise<PaymentStatus>
  /**
   * The transfer that made this payment, sent by any account, confirmed or not; undefined if there is none, or if the payment does
   * not satisfy the terms. Limits of time and gas do not apply: they did when it was mined. Rejects with `ChainUnavailable` if the
   * payment's nonce is used and the nodes do not tell by what.
   */
  findTransfer(request: FindTransferRequest<P>): Promise<Transfer | undefined>
  /** Whether the payment's nonce is used at this block. Rejects with `ChainUnavailable` if no node has the block. */
  isSpentAt(payment: P, terms: Terms, block: bigint): Promise<boolean>
  /** Whether the payment's nonce is used at a depth that no reorg reaches. */
  isSpentFinally(payment: P, terms: Terms): Promise<boolean>
  /**
   * Whether the asset failed this mined transaction, which holds only this payment, although the same call succeeds in
   * simulation and neither payer nor recipient caused the failure. Undefined if assets run no code.
   */
  failsOnlyWhenMined?(hash: string, payment: P, terms: Terms): Promise<boolean>
}

export type ChainTokens = {
  /**
   * The token as its chain describes it, or why it cannot be used. Simulates payments on the current state and sends
   * nothing. Bounded in time and gas, whatever the token does.
   */
  validate(wanted: Pick<Token, 'asset' | 'decimals'>): Promise<Token | TokenProblem>
}

/** What payments need of a network. */
export type ChainQueries<P extends Payment = Payment> = {
  readonly node: ChainNode<P>
  readonly signer: ChainSigner<P>
  readonly payments: ChainPayments<P>
}

/** One network. Every call has a timeout, and rejects with `ChainUnavailable` if no node gives a usable response. */
export type Chain<P extends Payment = Payment> = ChainQueries<P> & {
  readonly network: NetworkName
  readonly tokens: ChainTokens
  /** The same, with each request to the nodes observed. Cheap: it opens no connections. */
  observed(observe: ObserveRequest): ChainQueries<P>
  close(): void
}

/**
 * A kind of chain: addresses, sign-in and payments. To add one, add a folder that exports a record of this type. `S` holds
 * the settings that only networks of this family have.
 */
export type Family<P extends Payment = Payment, S extends object = object> = {
  readonly ecosystem: Ecosystem
  isChainId(text: string): boolean
  /** The canonical spelling of an address; undefined if `text` is not an address. */
  parseAddress(text: string): string | undefined
  /** The canonical spelling of a token address or a denomination; undefined if `text` is neither. */
  parseAsset(text: string): string | undefined
  /** Whether the key of the proof's address signed its message. Uses no network. */
  verifySignIn(proof: SignInProof): boolean
  /**
   * Whether the proof's address is a contract wallet that accepts the signature, according to every node that responds.
   * Undefined if wallets are never contracts.
   */
  verifyContractSignIn?(proof: SignInProof, nodes: Nodes): Promise<boolean>
  /** Parses the family's part of a payment payload; undefined if it is malformed. */
  readPayment(payload: unknown): P | undefined
  /** The checks that need no network. A payment that they refuse cannot settle at any facilitator. */
  checkOffline(payment: P, terms: Terms, at: { chainId: string; now: Date }): OfflineResult
  /** The hash of a signed transaction, spelled as a node spells it. `raw`: the bytes that are broadcast. */
  transactionHash(raw: Uint8Array): string
  /** Whether its signers may be remote: those sign Keccak-256 digests only. */
  readonly hasRemoteSigners: boolean
  /** The reason codes for a wrong recipient and a wrong amount. */
  readonly mismatch: Readonly<Record<'payTo' | 'amount', ReasonCode>>
  /** Parses the family's own members of a network's configuration, each of them text. Strict: refuses other members. */
  readonly configuration: z.ZodType<S>
  connect(settings: NetworkSettings & S): Chain<P>
}
