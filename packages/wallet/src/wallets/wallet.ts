import { type Offer } from '../payments/offer.js'
import { type Stops } from '../stops.js'

export type Ecosystem = 'evm' | 'cosmos'

/** A signed text; `pubkey` (base64, compressed) for ecosystems whose signatures do not contain the key. */
type SignedText = { signature: string; pubkey?: string }

/** A payment as signed. It can move money until `validUntil`. */
export type SignedPayment = {
  /** The account that pays. */
  payer: string
  /** The `payload` of x402's payment. */
  payload: Record<string, unknown>
  /** Tells it from the payer's other payments, as a gateway's records do. */
  nonce: string
  /** In Unix seconds: after it no chain takes the payment any more. Absent if the signature does not say. */
  validUntil?: number
  /** What the payer bears beside the amount, as signed. */
  fee?: PaymentFee
}

/** What the payer bears beside the amount, in smallest units of an asset of the payment's network. */
export type PaymentFee = { asset: string; amount: bigint }

/** A payment that is known but for its signature. */
type PaymentDraft = { fee?: PaymentFee; sign(): Promise<SignedPayment> }

export type SigningContext = {
  /** In Unix seconds. */
  now(): number
  /** By how many seconds this machine's clock is behind that of the server that asks for the payment; 0 if that is not known. */
  clockSkew: number
  /** The address of a node of the payment's chain, for families that must read the payer's account. */
  nodeUrl(chainId: string): Promise<string>
  stops: Stops
}

/** A wallet of any library, behind the few things that signing in and paying need. */
export type Wallet = {
  ecosystem: Ecosystem
  address(): Promise<string>
  /** By EIP-191 or ADR-036. */
  signText(text: string): Promise<SignedText>
  /** Goes by the account if `address` was asked for before. */
  canPay(offer: Offer): boolean
  draftPayment(offer: Offer, context: SigningContext): Promise<PaymentDraft>
}

/** How a family recognizes its wallets: undefined for the wallet of another one. */
export type WalletFamily = (input: unknown) => Wallet | undefined
