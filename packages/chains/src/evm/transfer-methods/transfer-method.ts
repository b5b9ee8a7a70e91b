import type { Check } from '../../checks'
import type { OfflineSignature, PaymentStatus, Payment, Refusal, Terms, Transfer } from '../../family'
import type { Receipt } from '../rpc-schemas'
import type { Deployment } from '../signing/wrapped-signature'
import type { Case, OfflineCase } from './checks'
import type { EvmNetwork } from '../network'

/** Any account can send this call to settle the payment. */
export type SettlementCall = {
  to: string
  data: string
  /** Unix seconds: the call fails in a block of this time or earlier. */
  notBefore: bigint
  /**
   * Whether it may share a transaction with other payments. False if the call runs a contract wallet's code, or if an equal
   * payment would emit the same events.
   */
  isShareable: boolean
  /** Deploys the payer's wallet in the same transaction if it has no code yet. */
  deployment?: Deployment & { wallet: string }
}

/** One way to pay (x402's `assetTransferMethod`). */
export type TransferMethod<P extends Payment> = {
  /** A payload of this method has one of these members. */
  readonly members: readonly string[]
  /** Undefined if the payload is not a payment of this method. */
  read(payload: unknown): P | undefined
  /** Offline checks of the signed fields, except recipient and amount. */
  readonly ownChecks: readonly Check<OfflineCase<P>>[]
  /** `unknown` if the token's EIP-712 domain, which is part of the digest, is unknown. */
  readSignature(payment: P, terms: Terms, chainId: string): OfflineSignature
  /** Runs all checks, the offline ones first; undefined means that the payment would settle now. */
  verify(question: Case<P>): Promise<Refusal | undefined>
  /** Absent if the payer signs the whole transaction. */
  call?(network: EvmNetwork, payment: P, terms: Terms): SettlementCall
  /** Checks the terms and what the payer signed, but no limit that ends once the payment is mined. */
  checkSigned(question: Case<P>): Promise<Refusal | undefined>
  /**
   * The place (see `Transfer`) of the transfer by which this successful transaction settles exactly this payment, by the asset's
   * events. Undefined if it does not.
   */
  placeOf(receipt: Receipt, payment: P, terms: Terms): string | undefined
  /** See `differs` of `TransactionStatus`. Called only for a successful transaction that does not settle the payment. */
  differs(receipt: Receipt, payment: P, terms: Terms): boolean
  isSpentAt(network: EvmNetwork, payment: P, terms: Terms, block: bigint): Promise<boolean>
  /** See `ChainPayments.paymentStatus`. */
  paymentStatus(network: EvmNetwork, payment: P, terms: Terms, minBlock: bigint): Promise<PaymentStatus>
  /** See `ChainPayments.findTransfer`. Compares with the payment's own recipient and amount. */
  findTransfer(
    network: EvmNetwork,
    payment: P,
    terms: Terms,
    at: { minBlock: bigint; since: bigint },
  ): Promise<Transfer | undefined>
}
