import { createVerifier } from '../../../checks'
import type { TransferMethod, SettlementCall } from '../transfer-method'
import type { EvmNetwork } from '../../network'
import { signatureToSend } from '../../signing/signature'
import { readByKey } from '../relayed-payment'
import { chainChecks, offlineChecks, ownChecks, signatureChecks, signedChecks } from './checks'
import { PROXY } from './contracts'
import { readChainState } from './chain-state'
import { findTransfer, isSpentAt, paymentStatus, placeOf } from './payment-status'
import { type PermittedPayment, readPermit2 } from './payment'
import { digestOf, domainOf, holdsOtherTransfer, holdsTransfer, settlementCall } from './transfer'

const call = ({ chainId }: EvmNetwork, payment: PermittedPayment): SettlementCall => ({
  to: PROXY,
  data: settlementCall(payment, signatureToSend(payment, digestOf(payment, chainId))),
  notBefore: payment.validAfter - 1n,
  // No event has the nonce, so two equal payments in one transaction would be indistinguishable.
  isShareable: false,
})

/**
 * The payer signs a Permit2 transfer, which our signer submits to x402's proxy, with an EIP-2612 permit if the payer has
 * not approved Permit2.
 */
export const permit2: TransferMethod<PermittedPayment> = {
  members: ['permit2Authorization', 'permit2'],
  read: readPermit2,
  ownChecks,
  readSignature: (payment, _, chainId) => readByKey(payment, digestOf(payment, chainId), domainOf(chainId)),
  verify: createVerifier({ offlineChecks, readChainState, chainChecks }),
  call,
  checkSigned: createVerifier({ offlineChecks: signedChecks, readChainState, chainChecks: signatureChecks }),
  placeOf: (receipt, payment, { token }) =>
    holdsTransfer(receipt, token.asset, payment) ? placeOf(payment) : undefined,
  differs: (receipt, payment, { token }) => holdsOtherTransfer(receipt, token.asset, payment),
  isSpentAt,
  paymentStatus,
  findTransfer,
}
