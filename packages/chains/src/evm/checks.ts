import type { ReasonCode } from '@tollgate/protocol'
import type { Refusal, Terms } from '../family'
import { sameAddress, ZERO_ADDRESS } from './address'
import type { EvmPayment } from './payment'

/** A payment, what it must satisfy, and the circumstances. `now` and the budget in seconds. */
export type Case = {
  payment: EvmPayment
  terms: Terms
  now: bigint
  confirmationBudget: bigint
  signers: readonly string[]
}

/** What the chain says of a payment. */
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

type Check<C> = (question: C) => Refusal | undefined

const refuse = (reason: ReasonCode, detail: string): Refusal => ({ reason, detail })

/** The first refusal among the checks, in their order. */
export function firstRefusal<C>(checks: readonly Check<C>[], question: C): Refusal | undefined {
  for (const check of checks) {
    const refusal = check(question)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** What the terms are judged by, whoever pays. */
type TermsCase = Pick<Case, 'terms' | 'signers'>

/** Amounts of a token are of this many values (uint256). */
const AMOUNTS = 2n ** 256n

const checkTerms: Check<TermsCase> = ({ terms: { payTo, amount, token }, signers }) => {
  const problem =
    (amount <= 0n && 'the amount is zero') ||
    (amount >= AMOUNTS && 'the amount is more than a token can count') ||
    (sameAddress(payTo, ZERO_ADDRESS) && 'payTo is the zero address') ||
    (sameAddress(payTo, token.asset) && 'payTo is the asset itself') ||
    (signers.some((signer) => sameAddress(payTo, signer)) && 'payTo is a settlement signer')
  return problem ? refuse('invalid_payment_requirements', problem) : undefined
}

/** `extra` is what the payer was told to sign; with another domain than the token's own, nothing it signs can settle. */
const checkDomain: Check<TermsCase> = ({ terms: { token, extra } }) => {
  if (token.name === undefined || token.version === undefined)
    return refuse('invalid_payment_requirements', 'the asset has no known EIP-712 domain')
  for (const part of ['name', 'version'] as const)
    if (extra?.[part] !== undefined && extra[part] !== token[part])
      return refuse('invalid_payment_requirements', `extra.${part} is not the ${part} of the asset`)
  return undefined
}

const checkRecipient: Check<Case> = ({ payment, terms }) => {
  if (!sameAddress(payment.payTo, terms.payTo))
    return refuse('invalid_exact_evm_payload_recipient_mismatch', 'the authorization pays somebody else')
  if (payment.payTo === payment.payer) return refuse('invalid_payment', 'the payer pays itself')
  return undefined
}

const checkAmount: Check<Case> = ({ payment, terms }) =>
  payment.amount === terms.amount
    ? undefined
    : refuse('invalid_exact_evm_payload_authorization_value', `${payment.amount} instead of ${terms.amount}`)

/** Twice the longest timeout that x402 knows: an authorization that lives longer is a mistake, and lies around. */
const LONGEST_LIFE_SECONDS = 2n * 86_400n

const checkWindow: Check<Case> = ({ payment: { validAfter, validBefore }, now, confirmationBudget }) => {
  if (validAfter > now) return refuse('invalid_exact_evm_payload_authorization_valid_after', 'not valid yet')
  const problem =
    (validBefore <= validAfter && 'ends before it begins') ||
    (validBefore <= now && 'expired') ||
    (validBefore <= now + confirmationBudget && 'ends before it could be settled') ||
    (validBefore > now + LONGEST_LIFE_SECONDS && 'ends more than two days from now')
  return problem ? refuse('invalid_exact_evm_payload_authorization_valid_before', problem) : undefined
}

/** Checks of the terms alone: what they refuse could never be paid. */
export const termsChecks: readonly Check<TermsCase>[] = [checkTerms, checkDomain]

/** Checks that need no network. */
export const offlineChecks: readonly Check<Case>[] = [
  ...termsChecks,
  checkRecipient,
  checkAmount,
  checkWindow,
]

export type ChainCase = Case & { facts: Facts }

const checkSignature: Check<ChainCase> = ({ facts }) =>
  facts.signatureHolds
    ? undefined
    : refuse(
        'invalid_exact_evm_payload_signature',
        'neither the key of the payer nor a contract in its place',
      )

const checkToken: Check<ChainCase> = ({ facts }) =>
  facts.authorizationUsed === undefined || facts.balance === undefined
    ? refuse('invalid_payment_requirements', 'the asset does not take EIP-3009 authorizations')
    : undefined

const checkUnused: Check<ChainCase> = ({ facts }) =>
  facts.authorizationUsed
    ? refuse('invalid_transaction_state', 'the authorization was used or cancelled')
    : undefined

const checkBalance: Check<ChainCase> = ({ payment, facts }) =>
  (facts.balance ?? 0n) < payment.amount
    ? refuse('insufficient_funds', `the payer has ${facts.balance ?? 0n}`)
    : undefined

const checkSimulation: Check<ChainCase> = ({ payment, facts }) => {
  if (facts.failure === undefined) return undefined
  return payment.validAfter >= facts.chainTime
    ? refuse('invalid_exact_evm_payload_authorization_valid_after', 'not valid yet by the clock of the chain')
    : refuse('invalid_transaction_state', facts.failure)
}

/** The chain's clock may be ahead of ours. */
const checkWindowOnChain: Check<ChainCase> = ({ facts, ...question }) =>
  facts.chainTime > question.now ? checkWindow({ ...question, now: facts.chainTime }) : undefined

/** Checks of what the chain says, the plainest reason first. */
export const chainChecks: readonly Check<ChainCase>[] = [
  checkSignature,
  checkToken,
  checkWindowOnChain,
  checkUnused,
  checkBalance,
  checkSimulation,
]
