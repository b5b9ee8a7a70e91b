import { type Case, type Check, checkBalance, commonChecks, refuse } from '../checks'
import { isCounterfactual } from '../signature'
import type { AuthorizedPayment } from './payment'

/** What the chain says of an authorization. */
export type Facts = {
  /** Seconds. */
  chainTime: bigint
  /** By the payer's key, or by the contract that the payer is. */
  signatureHolds: boolean
  /** Undefined where the contract has no such function. */
  authorizationUsed: boolean | undefined
  balance: bigint | undefined
  /** Why the settlement would fail now; undefined where it would not. */
  failure: string | undefined
}

type OfflineCheck = Check<Case<AuthorizedPayment>>
type ChainCheck = Check<Case<AuthorizedPayment> & { facts: Facts }>

/** Twice the longest timeout that x402 knows: an authorization that lives longer is a mistake, and lies around. */
const LONGEST_LIFE_SECONDS = 2n * 86_400n

const checkWindow: OfflineCheck = ({ payment: { validAfter, validBefore }, now, network }) => {
  if (validAfter > now) return refuse('invalid_exact_evm_payload_authorization_valid_after', 'not valid yet')
  const confirmationBudget = BigInt(network.confirmationBudgetSeconds)
  const problem =
    (validBefore <= validAfter && 'ends before it begins') ||
    (validBefore <= now && 'expired') ||
    (validBefore <= now + confirmationBudget && 'ends before it could be settled') ||
    (validBefore > now + LONGEST_LIFE_SECONDS && 'ends more than two days from now')
  return problem ? refuse('invalid_exact_evm_payload_authorization_valid_before', problem) : undefined
}

const checkDeployed: OfflineCheck = ({ payment }) =>
  isCounterfactual(payment.signature)
    ? refuse(
        'invalid_exact_evm_payload_undeployed_smart_wallet',
        'an EIP-6492 signature: deploy the wallet first',
      )
    : undefined

/** Checks that need no network. */
export const offlineChecks: readonly OfflineCheck[] = [...commonChecks, checkWindow, checkDeployed]

const checkSignature: ChainCheck = ({ facts }) =>
  facts.signatureHolds
    ? undefined
    : refuse(
        'invalid_exact_evm_payload_signature',
        'neither the key of the payer nor a contract in its place',
      )

const checkToken: ChainCheck = ({ facts }) =>
  facts.authorizationUsed === undefined || facts.balance === undefined
    ? refuse('invalid_payment_requirements', 'the asset does not take EIP-3009 authorizations')
    : undefined

const checkUnused: ChainCheck = ({ facts }) =>
  facts.authorizationUsed
    ? refuse('invalid_transaction_state', 'the authorization was used or cancelled')
    : undefined

const checkSimulation: ChainCheck = ({ payment, facts }) => {
  if (facts.failure === undefined) return undefined
  return payment.validAfter >= facts.chainTime
    ? refuse('invalid_exact_evm_payload_authorization_valid_after', 'not valid yet by the clock of the chain')
    : refuse('invalid_transaction_state', facts.failure)
}

/** The chain's clock may be ahead of ours. */
const checkWindowOnChain: ChainCheck = ({ facts, ...question }) =>
  facts.chainTime > question.now ? checkWindow({ ...question, now: facts.chainTime }) : undefined

/** Checks of what the chain says, the plainest reason first. */
export const chainChecks: readonly ChainCheck[] = [
  checkSignature,
  checkToken,
  checkWindowOnChain,
  checkUnused,
  checkBalance,
  checkSimulation,
]
