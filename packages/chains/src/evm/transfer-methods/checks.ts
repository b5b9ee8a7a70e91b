import { tokenAmount } from '@tollgate/protocol'
import { type Check, otherAmount, refuse } from '../../checks'
import type { Payment, Terms } from '../../family'
import { sameAddress, ZERO_ADDRESS } from '../address'
import type { EvmNetwork } from '../network'

export type Case<P extends Payment = Payment> = {
  network: EvmNetwork
  payment: P
  terms: Terms
  /** Unix seconds. */
  now: bigint
  /** The part of the payer's balance that its other payments need, in smallest units. */
  reserved: bigint
}

export type OfflineCase<P extends Payment = Payment> = Pick<Case<P>, 'payment' | 'terms' | 'now'> & {
  network: Pick<EvmNetwork, 'chainId' | 'minRemainingValiditySeconds' | 'maxGas'>
}

type TermsCase = { terms: Terms; network: Pick<EvmNetwork, 'signers'> }

/** Amounts of a token are below this limit (uint256). */
const AMOUNTS = 2n ** 256n

const checkTerms: Check<TermsCase> = ({ terms: { payTo, amount, token }, network: { signers } }) => {
  const problem =
    (amount <= 0n && 'the amount is zero') ||
    (amount >= AMOUNTS && 'the amount is more than a token can count') ||
    (sameAddress(payTo, ZERO_ADDRESS) && 'payTo is the zero address') ||
    (sameAddress(payTo, token.asset) && 'payTo is the asset itself') ||
    (signers.some((signer) => sameAddress(payTo, signer)) && 'payTo is a settlement signer')
  return problem ? refuse('invalid_payment_requirements', problem) : undefined
}

/** `extra` holds the domain that the payer was asked to sign. With another domain than the token's own nothing can settle. */
const checkDomain: Check<TermsCase> = ({ terms: { token, extra } }) => {
  for (const part of ['name', 'version'] as const)
    if (extra?.[part] !== undefined && token[part] !== undefined && extra[part] !== token[part])
      return refuse(
        'invalid_payment_requirements',
        `extra.${part} is not the ${part} of the asset's EIP-712 domain, which is ${JSON.stringify(token[part])}`,
      )
  return undefined
}

const checkRecipient: Check<OfflineCase> = ({ payment, terms }) => {
  if (!sameAddress(payment.payTo, terms.payTo))
    return refuse('invalid_exact_evm_payload_recipient_mismatch', 'the payer pays somebody else')
  if (payment.payTo === payment.payer) return refuse('invalid_payment', 'the payer pays itself')
  return undefined
}

const checkAmount: Check<OfflineCase> = ({ payment, terms }) =>
  payment.amount === terms.amount
    ? undefined
    : refuse('invalid_exact_evm_payload_authorization_value', otherAmount(payment.amount, terms))

/** Terms that these checks refuse could never be paid. */
export const termsChecks: readonly Check<TermsCase>[] = [checkTerms, checkDomain]

export const signedTermsChecks: readonly Check<OfflineCase>[] = [checkRecipient, checkAmount]

export const commonChecks: readonly Check<Case>[] = [...termsChecks, ...signedTermsChecks]

/** The payer must have the amount and the reserved part. An unknown balance counts as 0. */
export const checkBalance: Check<Case & { chainState: { balance: bigint | undefined } }> = ({
  payment,
  terms: { token },
  reserved,
  chainState: { balance = 0n },
}) => {
  if (balance >= payment.amount + reserved) return undefined
  const [has, pays] = [balance, payment.amount].map((amount) => tokenAmount(amount, token))
  return refuse(
    'insufficient_funds',
    reserved === 0n
      ? `the payer has ${has}, and pays ${pays}`
      : `the payer has ${has}, pays ${pays}, and ${tokenAmount(reserved, token)} is reserved for its other payments`,
  )
}
