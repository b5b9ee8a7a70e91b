import { type Check, refuse } from '../checks'
import type { Terms } from '../family'
import { addressOf, prefixOf } from './address'
import { bearable } from './feegrant/sponsorship'
import { feeFor } from './fees'
import type { CosmosNetwork } from './network'
import type { CosmosPayment } from './payment'
import { checkStated } from './stated'

/** A payment, what it must satisfy, and the circumstances. */
export type Case = {
  network: CosmosNetwork
  payment: CosmosPayment
  terms: Terms
  /** Of the payer's balance, in smallest units: spoken for by others of its payments. */
  reserved: bigint
  /** What the chain says is of this block or a later one: see `Chain.verify`. */
  since: bigint
}

type OfflineCheck = Check<Case>

/** A case as the checks of the signed transaction see it, which ask no network. */
export type SignedCase = Pick<Case, 'payment' | 'terms'> & {
  network: Pick<CosmosNetwork, 'chainId' | 'prefix'>
}
type SignedCheck = Check<SignedCase>

/** What the terms are judged by, whoever pays. */
type TermsCase = { terms: Terms; network: Pick<CosmosNetwork, 'prefix' | 'signer'> }

/** Amounts of the bank module are of this many values. */
const AMOUNTS = 2n ** 256n

const checkTerms: Check<TermsCase> = ({ terms: { payTo, amount }, network: { prefix, signer } }) => {
  const problem =
    (amount <= 0n && 'the amount is zero') ||
    (amount >= AMOUNTS && 'the amount is more than a chain can count') ||
    (prefixOf(payTo) !== prefix && `payTo is no address that begins with ${prefix}`) ||
    (payTo === signer && 'payTo is the one who bears the fees')
  return problem ? refuse('invalid_payment_requirements', problem) : undefined
}

/** Checks of the terms alone: what they refuse could never be paid. */
export const termsChecks: readonly Check<TermsCase>[] = [checkTerms]

const checkNetwork: SignedCheck = ({ payment: { stated }, network: { chainId } }) =>
  stated.chainId === chainId ? undefined : refuse('invalid_network', 'the payment is for another chain')

/** ADR-027: of what chains read alike, one encoding is the transaction, and others are none. */
const checkEncoding: SignedCheck = ({ payment: { tx } }) =>
  tx.isCanonical
    ? undefined
    : refuse(
        'invalid_payload',
        'the transaction holds more than a payment needs, or is not encoded canonically',
      )

const checkMessages: SignedCheck = ({ payment: { tx } }) => {
  const [message] = tx.messages
  if (tx.messages.length !== 1)
    return refuse('invalid_payload', `${tx.messages.length} messages instead of one`)
  return tx.send === undefined
    ? refuse('invalid_payload', `no plain bank send, but ${message?.typeUrl.slice(0, 100) ?? 'nothing'}`)
    : undefined
}

const checkCoin: SignedCheck = ({ payment: { tx }, terms }) => {
  const coins = tx.send?.coins ?? []
  const [coin] = coins
  if (coin === undefined || coins.length !== 1)
    return refuse('invalid_payment', `${coins.length} coins instead of one`)
  if (coin.denom !== terms.token.asset) return refuse('invalid_payment', 'the payer pays another asset')
  return coin.amount === terms.amount
    ? undefined
    : refuse('invalid_payment', `${coin.amount} instead of ${terms.amount}`)
}

const checkRecipient: SignedCheck = ({ payment, terms }) => {
  if (payment.tx.send?.to !== terms.payTo) return refuse('invalid_payment', 'the payer pays somebody else')
  return payment.payTo === payment.payer ? refuse('invalid_payment', 'the payer pays itself') : undefined
}

/** The one who is said to pay, the one whose money it is, and the one whose key signs are the same. */
const checkSigner: SignedCheck = ({ payment: { tx, payer }, network: { prefix } }) => {
  const [signer] = tx.signers
  if (signer === undefined || tx.signers.length !== 1)
    return refuse('invalid_payload', `${tx.signers.length} signers instead of one`)
  if (tx.send?.from !== payer) return refuse('invalid_payload', 'the money is of another than the payer')
  if (signer.publicKey === undefined)
    return refuse('invalid_payload', 'the signer names no public key of a kind that is taken')
  return addressOf(signer.publicKey, prefix) === payer
    ? undefined
    : refuse('invalid_payload', 'the public key is not the payer’s')
}

const checkSignatureForm: SignedCheck = ({ payment: { tx } }) => {
  const [signature] = tx.signatures
  if (tx.signers[0]?.mode === undefined)
    return refuse('invalid_payload', 'not signed as SIGN_MODE_DIRECT or SIGN_MODE_LEGACY_AMINO_JSON')
  return tx.signatures.length === 1 && signature?.length === 64
    ? undefined
    : refuse('invalid_payload', 'not one signature of 64 bytes')
}

/** Whoever a transaction names, its fee is taken from the payer's money, or from ours where we offered that. */
const checkFeePayer: OfflineCheck = ({ payment, network }) => {
  const { payer, granter } = payment.tx.fee
  if (payer !== '' && payer !== payment.payer)
    return refuse('invalid_payload', 'another than the payer is to pay the fee')
  if (granter === '') return undefined
  if (granter !== network.signer || network.gaslessMaxFee === undefined)
    return refuse('invalid_payload', 'the fee granter is none that bears fees here')
  return bearable(network, payment) === undefined
    ? refuse(
        'invalid_payment',
        `a fee that is borne is of ${network.feeDenom} and at most ${network.gaslessMaxFee}`,
      )
    : undefined
}

/** Payers set limits more generous than ours; past this, a limit is a mistake, or keeps other transactions out of a block. */
const ROOM = 4n

const checkGas: OfflineCheck = ({ payment: { tx }, network: { maxGas } }) => {
  const { gas } = tx.fee
  if (gas < 1n) return refuse('invalid_payment', 'the transaction has no gas')
  return gas <= ROOM * maxGas
    ? undefined
    : refuse('invalid_payment', `a gas limit of ${gas} is more than ${ROOM * maxGas}`)
}

/** It cannot be replaced by us, so it must offer enough as it is: in the one coin whose worth we know. */
const checkFee: OfflineCheck = ({ payment: { tx }, network: { feeDenom, gasPrice } }) => {
  const { coins, gas } = tx.fee
  const least = feeFor(gas, gasPrice)
  const offered = coins.find(({ denom }) => denom === feeDenom)?.amount ?? 0n
  return offered < least
    ? refuse(
        'invalid_payment',
        `fee ${offered}${feeDenom}, this network asks ${least}${feeDenom} for ${gas} gas`,
      )
    : undefined
}

/** Checks of what the payer signed, against the terms. */
export const signedChecks: readonly SignedCheck[] = [
  checkNetwork,
  checkEncoding,
  checkMessages,
  checkCoin,
  checkRecipient,
  checkSigner,
  checkSignatureForm,
  checkStated,
]

/** Checks that need no network. */
export const offlineChecks: readonly OfflineCheck[] = [...termsChecks, ...signedChecks]

/**
 * What we take of a fee, and of who pays it. Asked only of a transaction that is yet to be mined: one that its payer sent
 * itself paid what its chain asked, however it did.
 */
export const feeChecks: readonly OfflineCheck[] = [checkFeePayer, checkGas, checkFee]
