import type { Check } from '../../checks'
import type { PaymentStatus, Payment, Refusal, Terms } from '../../family'
import type { Receipt } from '../rpc-schemas'
import type { Case, OfflineCase } from './checks'
import type { EvmNetwork } from '../network'

/** The call by which anybody can settle a payment. */
export type SettlementCall = {
  to: string
  data: string
  /** Unix seconds: in no block of this time, or an earlier one, the call succeeds. */
  notBefore: bigint
  /**
   * Whether it may share a transaction with others: not where a contract in the place of the payer vouches for it, and runs
   * with it, and not where the events of an equal payment would be the same.
   */
  isShareable: boolean
}

/** One way to pay: all that there is to know of payments of this kind. */
export type TransferMethod<P extends Payment> = {
  /** Reads a payload that is an object; undefined where it holds no payment of this kind. */
  read(payload: unknown): P | undefined
  /** Checks of what the payer signed, beside its recipient and amount, that need no network. */
  readonly ownChecks: readonly Check<OfflineCase<P>>[]
  /** Whether the payer's own key signed; undefined where the token's domain, which is signed too, is not known. */
  isSignedByKey(payment: P, terms: Terms, chainId: string): boolean | undefined
  /** All checks, those that need no network first; undefined means the payment would settle now. */
  verify(question: Case<P>): Promise<Refusal | undefined>
  /** Undefined where the payer signed a transaction of its own. */
  call?(network: EvmNetwork, payment: P, terms: Terms): SettlementCall
  /** Whether a transaction that succeeded settles exactly this payment, by the events of the asset in its receipt. */
  settles(receipt: Receipt, payment: P, terms: Terms): boolean
  /** See `Inspection.differs`; of a transaction that succeeded and does not settle the payment. */
  differs(receipt: Receipt, payment: P, terms: Terms): boolean
  /** Whether the nonce of the payment was taken as of this block. */
  isSpentAt(network: EvmNetwork, payment: P, terms: Terms, block: bigint): Promise<boolean>
  /** See `ChainPayments.paymentStatus`. */
  paymentStatus(network: EvmNetwork, payment: P, terms: Terms, seen: bigint): Promise<PaymentStatus>
}
