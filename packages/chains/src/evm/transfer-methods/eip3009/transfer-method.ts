import { createVerifier } from '../../../checks'
import type { Terms } from '../../../family'
import type { TransferMethod, SettlementCall } from '../transfer-method'
import { readByKey } from '../relayed-payment'
import type { EvmNetwork } from '../../network'
import { isFactoryAllowed } from '../../settlement/deployment'
import { isSignedByKey } from '../../signing/signature'
import { calls, digestOf, domainOf, holdsOtherTransfer, placeOf } from './authorization'
import { chainChecks, offlineChecks, ownChecks, signatureChecks, signedChecks } from './checks'
import { readChainState } from './chain-state'
import { findTransfer, isSpentAt, paymentStatus } from './payment-status'
import { type AuthorizedPayment, readAuthorization } from './payment'

function call(network: EvmNetwork, payment: AuthorizedPayment, { token }: Terms): SettlementCall {
  const signedByKey = isSignedByKey(payment, digestOf(payment, token, network.chainId))
  const { payer: wallet, deployment } = payment
  return {
    to: token.asset,
    data: calls.transfer(payment, signedByKey),
    notBefore: payment.validAfter,
    isShareable: signedByKey,
    ...(deployment && isFactoryAllowed(network, deployment) && { deployment: { ...deployment, wallet } }),
  }
}

/** The payer signs an EIP-3009 authorization, which our signer submits to the token. */
export const eip3009: TransferMethod<AuthorizedPayment> = {
  members: ['authorization', 'eip3009'],
  read: readAuthorization,
  ownChecks,
  readSignature: (payment, { token }, chainId) =>
    token.name === undefined || token.version === undefined
      ? { signature: 'unknown' }
      : readByKey(payment, digestOf(payment, token, chainId), domainOf(token, chainId)),
  verify: createVerifier({ offlineChecks, readChainState, chainChecks }),
  call,
  checkSigned: createVerifier({ offlineChecks: signedChecks, readChainState, chainChecks: signatureChecks }),
  placeOf: ({ logs }, payment, { token }) => placeOf(logs, token.asset, payment),
  differs: ({ logs }, payment, { token }) => holdsOtherTransfer(logs, token.asset, payment),
  isSpentAt,
  paymentStatus,
  findTransfer,
}
