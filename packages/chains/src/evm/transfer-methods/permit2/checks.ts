import { tokenAmount } from '@tollgate/protocol'
import { type Check, refuse, refuseSpent } from '../../../checks'
import { sameAddress } from '../../address'
import {
  type RelayedPaymentState,
  checkDeployed,
  checkWindow,
  checkWindowOnChain,
  checkWrapper,
  refuseEarly,
  refuseSignature,
} from '../relayed-payment'
import { type Case, checkBalance, commonChecks, type OfflineCase } from '../checks'
import { PROXY } from './contracts'
import type { PermittedPayment } from './payment'
import { domainOf, fittingPermit } from './transfer'

export type ChainState = RelayedPaymentState & {
  /** Undefined if the network lacks Permit2 or the proxy. */
  nonceUsed: boolean | undefined
  balance: bigint | undefined
  /** The amount that Permit2 may move for the payer. */
  allowance: bigint | undefined
  /** The nonce of the payer's next permit; undefined if the token takes no permits. */
  permitNonce: bigint | undefined
  /** Why the settlement would fail now. */
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

export const ownChecks: readonly OwnCheck[] = [checkSpender, checkAsset, checkWindow, checkWrapper]

export const offlineChecks: readonly OfflineCheck[] = [...commonChecks, ...ownChecks]

/** What the payer signed, at any time. */
export const signedChecks: readonly OfflineCheck[] = [...commonChecks, checkSpender, checkAsset, checkWrapper]

const checkSignature: ChainCheck = ({ payment, network, chainState }) =>
  chainState.signatureHolds ? undefined : refuseSignature(payment, domainOf(network.chainId))

export const signatureChecks: readonly ChainCheck[] = [checkDeployed, checkSignature]

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

/** Why the payment's permit does not approve Permit2, without a simulation. */
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
 * Permit2 must be allowed to move the amount, now or by the payment's permit. A permit has the payer's next permit nonce and
 * sets one amount, so its effect is unknown while other payments of the payer are in flight: such a payment waits, as for
 * funds. So does a payment that would share an allowance with them. A permit that would lower an allowance is refused:
 * other payments that were verified with that allowance would fail at our cost.
 */
const checkAllowance: ChainCheck = (question) => {
  const { payment, reserved, chainState } = question
  const { allowance = 0n, permitNonce } = chainState
  const { token } = question.terms
  const mayMove = `Permit2 may move ${tokenAmount(allowance, token)}`
  const spokenFor = `${tokenAmount(reserved, token)} is spoken for`
  if (reserved > 0n && payment.permit !== undefined)
    return refuse('insufficient_funds', `brings a permit while of the payer's ${spokenFor}`)
  const takesEffect = permitNonce !== undefined && fittingPermit(payment)?.nonce === permitNonce
  if (takesEffect && allowance > payment.amount)
    return refuse('invalid_transaction_state', `${mayMove}, and the permit would lower that: pay without it`)
  if (allowance >= payment.amount + reserved) return undefined
  if (allowance >= payment.amount) return refuse('insufficient_funds', `${mayMove}, and ${spokenFor}`)
  const problem = problemOfPermit(question)
  return problem === undefined ? undefined : refuse('invalid_transaction_state', `${mayMove}, and ${problem}`)
}

const checkSimulation: ChainCheck = ({ payment, chainState }) => {
  if (chainState.failure === undefined) return undefined
  return payment.validAfter > chainState.chainTime
    ? refuseEarly(payment.validAfter, 'the chain', chainState.chainTime)
    : refuse('invalid_transaction_state', chainState.failure)
}

/** In the order in which the reason helps the client most. */
export const chainChecks: readonly ChainCheck[] = [
  checkContracts,
  ...signatureChecks,
  checkToken,
  checkWindowOnChain,
  checkUnused,
  checkBalance,
  checkAllowance,
  checkSimulation,
]
