import { type Check, refuse } from '../checks'
import type { Fate, Payment } from '../family'
import type { Case, OfflineCase } from './checks'
import type { EvmNetwork } from './network'
import { timeAt } from './search'
import { isCounterfactual } from './signature'

/** A payment that its payer signs and a signer of ours carries to the chain. */
export type CarriedPayment = Payment & {
  /** Unix seconds: before, nobody can settle it. */
  validAfter: bigint
  validUntil: bigint
  signature: string
}

/** What the chain says of any of them. */
export type CarriedFacts = {
  /** Seconds. */
  chainTime: bigint
  /** By the payer's key, or by the contract that the payer is. */
  signatureHolds: boolean
}

type OfflineCheck = Check<OfflineCase<CarriedPayment>>
type ChainCheck = Check<Case<CarriedPayment> & { facts: CarriedFacts }>

/** Twice the longest timeout that x402 knows: an authorization that lives longer is a mistake, and lies around. */
const LONGEST_LIFE_SECONDS = 2n * 86_400n

export const checkWindow: OfflineCheck = ({ payment: { validAfter, validUntil }, now, network }) => {
  if (validAfter > now) return refuse('invalid_exact_evm_payload_authorization_valid_after', 'not valid yet')
  const confirmationBudget = BigInt(network.confirmationBudgetSeconds)
  const problem =
    (validUntil <= validAfter && 'ends before it begins') ||
    (validUntil <= now && 'expired') ||
    (validUntil <= now + confirmationBudget && 'ends before it could be settled') ||
    (validUntil > now + LONGEST_LIFE_SECONDS && 'ends more than two days from now')
  return problem ? refuse('invalid_exact_evm_payload_authorization_valid_before', problem) : undefined
}

export const checkDeployed: OfflineCheck = ({ payment }) =>
  isCounterfactual(payment.signature)
    ? refuse(
        'invalid_exact_evm_payload_undeployed_smart_wallet',
        'an EIP-6492 signature: deploy the wallet first',
      )
    : undefined

export const checkSignature: ChainCheck = ({ facts }) =>
  facts.signatureHolds
    ? undefined
    : refuse(
        'invalid_exact_evm_payload_signature',
        'neither the key of the payer nor a contract in its place',
      )

/** The chain's clock may be ahead of ours. */
export const checkWindowOnChain: ChainCheck = ({ facts, ...question }) =>
  facts.chainTime > question.now ? checkWindow({ ...question, now: facts.chainTime }) : undefined

const lapsed: Fate = {
  status: 'void',
  reason: 'payment_expired',
  detail: 'the authorization lapsed before anybody used it',
}

/**
 * The fate of a payment that nobody has used: void where no block after the newest confirmed one, of number `confirmed`, can
 * take it, for their clocks only go forward.
 */
export async function unusedFate(
  network: EvmNetwork,
  { validUntil }: CarriedPayment,
  confirmed: bigint,
): Promise<Fate> {
  if (confirmed < 0n) return { status: 'open' }
  return (await timeAt(network, confirmed)) >= validUntil ? lapsed : { status: 'open' }
}
