import { verifier } from '../../checks'
import type { Kind, SettlementCall } from '../kind'
import type { EvmNetwork } from '../network'
import { isSignedByKey, signatureToSend } from '../signature'
import { chainChecks, offlineChecks, ownChecks } from './checks'
import { PROXY } from './contracts'
import { askFacts } from './facts'
import { fate, isSpentAt } from './fate'
import { type PermittedPayment, readPermit2 } from './payment'
import { digestOf, holdsOtherTransfer, holdsTransfer, settlementCall } from './transfer'

const call = ({ chainId }: EvmNetwork, payment: PermittedPayment): SettlementCall => ({
  to: PROXY,
  data: settlementCall(payment, signatureToSend(payment, digestOf(payment, chainId))),
  notBefore: payment.validAfter - 1n,
  // No event names the nonce: two equal payments in one transaction could not be told apart.
  isShareable: false,
})

/**
 * The payer signs a transfer by Permit2, which a signer of ours carries to the proxy of x402, with the token's own permit
 * for Permit2 where the payer has not approved it (EIP-2612).
 */
export const permit2: Kind<PermittedPayment> = {
  read: readPermit2,
  ownChecks,
  isSignedByKey: (payment, _, chainId) => isSignedByKey(payment, digestOf(payment, chainId)),
  verify: verifier({ offlineChecks, askFacts, chainChecks }),
  call,
  settles: (receipt, payment, { token }) => holdsTransfer(receipt, token.asset, payment),
  differs: (receipt, payment, { token }) => holdsOtherTransfer(receipt, token.asset, payment),
  isSpentAt,
  fate,
}
