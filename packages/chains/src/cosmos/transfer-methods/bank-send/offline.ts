import { firstRefusal } from '../../../checks'
import type { OfflineResult, Terms } from '../../../family'
import { prefixOf } from '../../address'
import { refuseSignature, signedChecks } from './checks'
import type { CosmosPayment } from './payment'
import { isSignedBy } from '../../signing/public-key'
import { signBytesOf } from '../../signing/sign-bytes'

/**
 * See `Family.checkOffline`. The signature covers the account number, so it is checked only if the payload states that. A
 * wrong number cannot settle anywhere.
 */
export function checkOffline(
  payment: CosmosPayment,
  terms: Terms,
  { chainId }: { chainId: string },
): OfflineResult {
  const network = { chainId, prefix: prefixOf(terms.payTo) }
  const refusal = firstRefusal(signedChecks, { payment, terms, network })
  if (refusal) return refusal
  const { accountNumber } = payment.unsignedFields
  if (accountNumber == null) return { signature: 'unknown' }
  const { tx } = payment
  const [{ publicKey } = {}] = tx.signers
  const [signature] = tx.signatures
  const signBytes = signBytesOf(tx, { chainId, accountNumber })
  return publicKey && signature && signBytes && isSignedBy(publicKey, signBytes, signature)
    ? { signature: 'valid' }
    : refuseSignature(payment, { chainId, accountNumber })
}
