import { type Check, refuse, refuseSpent } from '../../../checks'
import { sameAddress } from '../../address'
import {
  type RelayedPaymentState,
  checkDeployed,
  checkSignature,
  checkWindow,
  checkWindowOnChain,
} from '../relayed-payment'
import { type Case, checkBalance, commonChecks, type OfflineCase } from '../checks'
import { PROXY } from './contracts'
import type { PermittedPayment } from './payment'
import { fittingPermit } from './transfer'

/** What the chain says of a transfer by Permit2. */
export type ChainState = RelayedPaymentState & {
  /** Undefined where there is no Permit2, or not the proxy that it is signed for. */
  nonceUsed: boolean | undefined
  balance: bigint | undefined
  /** What Permit2 may move of the payer's. */
  allowance: bigint | undefined
  /** Of the payer's next permit to the token; undefined where the token has none. */
  permitNonce: bigint | undefined
  /** Why the settlement would fail now; undefined where it would not. */
  failure: string | undefined
}

type OwnCheck = Check<OfflineCase<PermittedPayment>>
type OfflineCheck = Check<Case<PermittedPayment>>
type ChainCheck = Check<Case<PermittedPayment> & { chainState: ChainState }>

const checkSpender: OwnCheck = ({ payment: { spender } }) =>
  sameAddress(spender, PROXY)
    ? undefined
    : refuse('invalid_payment', `signed for the spender ${spender} instead of ${PROXY}`)

const checkAsset: OwnCheck = ({ payment: { asset }, terms: { token } }) =>
  sameAddress(asset, token.asset) ? undefined : refuse('invalid_payment', 'signed for another asset')

/** Checks of the transfer itself. */
export const ownChecks: readonly OwnCheck[] = [checkSpender, checkAsset, checkWindow, checkDeployed]

/** Checks that need no network. */
export const offlineChecks: readonly OfflineCheck[] = [...commonChecks, ...ownChecks]

const checkContracts: ChainCheck = ({ chainState }) =>
  chainState.nonceUsed === undefined
    ? refuse('invalid_payment_requirements', 'Permit2, or the proxy of x402, is not on this network')
    : undefined

const checkToken: ChainCheck = ({ chainState }) =>
  chainState.balance === undefined || chainState.allowance === undefined
    ? refuse('invalid_payment_requirements', 'the asset does not tell a balance or an allowance')
    : undefined

const checkUnused: ChainCheck = ({ chainState }) =>
  chainState.nonceUsed ? refuseSpent('the nonce was used or given up') : undefined

/** Why the permit that the payment brings does not let Permit2 move what is paid, as far as that can be told without a trial. */
function problemOfPermit({ payment, chainState: { permitNonce }, now, network }: Parameters<ChainCheck>[0]) {
  if (payment.permit === undefined) return 'there is no permit'
  const permit = fittingPermit(payment)
  if (permit === undefined) return 'the permit is not for this payment'
  if (permitNonce === undefined) return 'the asset takes no permits'
  if (permit.nonce !== permitNonce)
    return `the permit is the payer's number ${permit.nonce}, not ${permitNonce}`
  return permit.deadline <= now + BigInt(network.minRemainingValiditySeconds)
    ? 'the permit ends before it could be used'
    : undefined
}

/**
 * Permit2 may move what is paid, or will by the token's permit. That permit has the payer's next number at the token and names
 * one amount: while others of its payments are on their way, none that brings one can be told to settle, and it waits, as for
 * funds. So does one that would have to share an allowance with them. Nor is a permit taken that would lower an allowance:
 * payments by that allowance, judged while this one is on its way, would fail at our cost.
 */
const checkAllowance: ChainCheck = (question) => {
  const { payment, reserved, chainState } = question
  const { allowance = 0n, permitNonce } = chainState
  if (reserved > 0n && payment.permit !== undefined)
    return refuse('insufficient_funds', `brings a permit while ${reserved} of the payer's is spoken for`)
  const takesEffect = permitNonce !== undefined && fittingPermit(payment)?.nonce === permitNonce
  if (takesEffect && allowance > payment.amount)
    return refuse(
      'invalid_transaction_state',
      `Permit2 may move ${allowance}, and the permit would lower that: pay without it`,
    )
  if (allowance >= payment.amount + reserved) return undefined
  if (allowance >= payment.amount)
    return refuse('insufficient_funds', `Permit2 may move ${allowance}, and ${reserved} is spoken for`)
  const problem = problemOfPermit(question)
  return problem === undefined
    ? undefined
    : refuse('invalid_transaction_state', `Permit2 may move ${allowance}, and ${problem}`)
}

const checkSimulation: ChainCheck = ({ payment, chainState }) => {
  if (chainState.failure === undefined) return undefined
  return payment.validAfter > chainState.chainTime
    ? refuse('invalid_exact_evm_payload_authorization_valid_after', 'not valid yet by the clock of the chain')
    : refuse('invalid_transaction_state', chainState.failure)
}

/** Checks of what the chain says, the plainest reason first. */
export const chainChecks: readonly ChainCheck[] = [
  checkContracts,
  checkSignature,
  checkToken,
  checkWindowOnChain,
  checkUnused,
  checkBalance,
  checkAllowance,
  checkSimulation,
]
