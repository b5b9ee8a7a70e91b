import { type Check, refuse } from '../../checks'
import type { PaymentStatus, Payment } from '../../family'
import type { Case, OfflineCase } from './checks'
import type { EvmNetwork } from '../network'
import type { Rpc } from '../rpc'
import { Data } from '../rpc-schemas'
import { timeAt } from '../observation/log-search'
import { isWrapper, type ReadSignature } from '../signing/wrapped-signature'

/** A payment that its payer signs and our signer submits. */
export type RelayedPayment = Payment &
  ReadSignature & {
    /** Unix seconds: the payment cannot settle earlier. */
    validAfter: bigint
    validUntil: bigint
  }

export type RelayedPaymentState = {
  /** Unix seconds. */
  chainTime: bigint
  /** Whether the payer has code, now or by its deployment. Undefined if its signature is not wrapped. */
  isDeployed: boolean | undefined
  /** Signed by the payer's key, or accepted by the payer's contract. */
  signatureHolds: boolean
}

type OfflineCheck = Check<OfflineCase<RelayedPayment>>
type ChainCheck = Check<Case<RelayedPayment> & { chainState: RelayedPaymentState }>

/** Twice the longest timeout of x402: a longer validity is a mistake. */
const LONGEST_LIFE_SECONDS = 2n * 86_400n

export const checkWindow: OfflineCheck = ({ payment: { validAfter, validUntil }, now, network }) => {
  if (validAfter > now) return refuse('invalid_exact_evm_payload_authorization_valid_after', 'not valid yet')
  const confirmationBudget = BigInt(network.minRemainingValiditySeconds)
  const problem =
    (validUntil <= validAfter && 'ends before it begins') ||
    (validUntil <= now && 'expired') ||
    (validUntil <= now + confirmationBudget && 'ends before it could be settled') ||
    (validUntil > now + LONGEST_LIFE_SECONDS && 'ends more than two days from now')
  return problem ? refuse('invalid_exact_evm_payload_authorization_valid_before', problem) : undefined
}

export const checkWrapper: OfflineCheck = ({ payment }) =>
  isWrapper(payment.signature)
    ? refuse('invalid_exact_evm_payload_signature', 'the ERC-6492 wrapper is malformed or holds another one')
    : undefined

export const checkDeployed: ChainCheck = ({ chainState }) =>
  chainState.isDeployed === false
    ? refuse(
        'invalid_exact_evm_payload_undeployed_smart_wallet',
        'a wrapped signature of an account without code: deploy the wallet first',
      )
    : undefined

/** Undefined if the signature is not wrapped. */
export const readHasCode = async (
  rpc: Rpc,
  { payer, deployment }: RelayedPayment,
): Promise<boolean | undefined> =>
  deployment && (await rpc.call(Data, 'eth_getCode', [payer, 'latest'])) !== '0x'

export const checkSignature: ChainCheck = ({ chainState }) =>
  chainState.signatureHolds
    ? undefined
    : refuse(
        'invalid_exact_evm_payload_signature',
        'neither the key of the payer nor a contract in its place',
      )

/** The chain's clock may be ahead of ours. */
export const checkWindowOnChain: ChainCheck = ({ chainState, ...question }) =>
  chainState.chainTime > question.now ? checkWindow({ ...question, now: chainState.chainTime }) : undefined

const lapsed: PaymentStatus = {
  status: 'void',
  reason: 'payment_expired',
  detail: 'the authorization lapsed before anybody used it',
}

/**
 * Status of an unused payment: void if no block after the newest confirmed one (number `confirmed`) can include it, because block
 * timestamps only increase.
 */
export async function unusedPaymentStatus(
  network: EvmNetwork,
  { validUntil }: RelayedPayment,
  confirmed: bigint,
): Promise<PaymentStatus> {
  if (confirmed < 0n) return { status: 'open' }
  return (await timeAt(network, confirmed)) >= validUntil ? lapsed : { status: 'open' }
}
