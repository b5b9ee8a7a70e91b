import { type Check, refuse, refuseSpent } from '../../../checks'
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
import { domainOf } from './authorization'
import type { AuthorizedPayment } from './payment'

export type ChainState = RelayedPaymentState & {
  /** Undefined if the contract has no such function. */
  authorizationUsed: boolean | undefined
  balance: bigint | undefined
  /** Why the settlement would fail now. */
  failure: string | undefined
}

type OfflineCheck = Check<Case<AuthorizedPayment>>
type ChainCheck = Check<Case<AuthorizedPayment> & { chainState: ChainState }>

export const ownChecks: readonly Check<OfflineCase<AuthorizedPayment>>[] = [checkWindow, checkWrapper]

const checkStandard: OfflineCheck = ({ terms: { token } }) =>
  token.name === undefined || token.version === undefined || token.assetTransferMethod !== undefined
    ? refuse('invalid_payment_requirements', 'the asset takes no EIP-3009 authorizations: pay by Permit2')
    : undefined

export const offlineChecks: readonly OfflineCheck[] = [checkStandard, ...commonChecks, ...ownChecks]

/** What the payer signed, at any time. */
export const signedChecks: readonly OfflineCheck[] = [checkStandard, ...commonChecks, checkWrapper]

const checkSignature: ChainCheck = ({ payment, terms, network, chainState }) =>
  chainState.signatureHolds ? undefined : refuseSignature(payment, domainOf(terms.token, network.chainId))

export const signatureChecks: readonly ChainCheck[] = [checkDeployed, checkSignature]

const checkToken: ChainCheck = ({ chainState }) =>
  chainState.authorizationUsed === undefined || chainState.balance === undefined
    ? refuse('invalid_payment_requirements', 'the asset takes no EIP-3009 authorizations: pay by Permit2')
    : undefined

const checkUnused: ChainCheck = ({ chainState }) =>
  chainState.authorizationUsed ? refuseSpent('the authorization was used or cancelled') : undefined

const checkSimulation: ChainCheck = ({ payment, chainState }) => {
  if (chainState.failure === undefined) return undefined
  return payment.validAfter >= chainState.chainTime
    ? refuseEarly(payment.validAfter, 'the chain', chainState.chainTime)
    : refuse('invalid_transaction_state', chainState.failure)
}

/** In the order in which the reason helps the client most. */
export const chainChecks: readonly ChainCheck[] = [
  ...signatureChecks,
  checkToken,
  checkWindowOnChain,
  checkUnused,
  checkBalance,
  checkSimulation,
]
