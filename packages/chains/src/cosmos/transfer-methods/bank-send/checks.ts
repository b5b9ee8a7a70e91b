import { type Check, otherAmount, refuse } from '../../../checks'
import type { Refusal, Terms } from '../../../family'
import { addressOf, prefixOf } from '../../address'
import { paidFee, sponsoredFee } from '../../settlement/feegrant/sponsorship'
import { feeFor } from '../../settlement/fees'
import type { CosmosNetwork } from '../../network'
import type { CosmosPayment } from './payment'
import { checkUnsignedFields } from './unsigned-fields'

export type VerifyContext = {
  network: CosmosNetwork
  payment: CosmosPayment
  terms: Terms
  /** The part of the payer's balance that its other payments need, in smallest units. */
  reserved: bigint
  /** See `VerifyRequest`. */
  minBlock: bigint
}

type OfflineCheck = Check<VerifyContext>

type SignedContext = Pick<VerifyContext, 'payment' | 'terms'> & {
  network: Pick<CosmosNetwork, 'chainId' | 'prefix'>
}
type SignedCheck = Check<SignedContext>

type TermsContext = { terms: Terms; network: Pick<CosmosNetwork, 'prefix' | 'signer'> }

/** Amounts of the bank module are below this limit. */
const AMOUNT_LIMIT = 2n ** 256n

const checkTerms: Check<TermsContext> = ({ terms: { payTo, amount }, network: { prefix, signer } }) => {
  const problem =
    (amount <= 0n && 'the amount is zero') ||
    (amount >= AMOUNT_LIMIT && 'the amount exceeds 2^256 - 1') ||
    (prefixOf(payTo) !== prefix && `payTo is not an address with the prefix ${prefix}`) ||
    (payTo === signer && 'payTo is the account that pays the fees')
  return problem ? refuse('invalid_payment_requirements', problem) : undefined
}

/** See `ChainPayments.checkTerms`. */
export const termsChecks: readonly Check<TermsContext>[] = [checkTerms]

const checkNetwork: SignedCheck = ({ payment: { unsignedFields }, network: { chainId } }) =>
  unsignedFields.chainId === chainId
    ? undefined
    : refuse('invalid_network', `the payment is for another chain than ${chainId}`)

/** Several encodings mean the same transaction; only the canonical one (ADR-027) is accepted. */
const checkEncoding: SignedCheck = ({ payment: { tx } }) =>
  tx.isCanonical
    ? undefined
    : refuse(
        'invalid_payload',
        'the transaction has more fields than a payment needs, or is not encoded canonically',
      )

const checkMessages: SignedCheck = ({ payment: { tx } }) => {
  const [message] = tx.messages
  if (tx.messages.length !== 1)
    return refuse('invalid_payload', `${tx.messages.length} messages instead of one`)
  return tx.send === undefined
    ? refuse('invalid_payload', `not a plain bank send but ${message?.typeUrl.slice(0, 100) ?? 'nothing'}`)
    : undefined
}

const checkCoin: SignedCheck = ({ payment: { tx }, terms }) => {
  const coins = tx.send?.coins ?? []
  const [coin] = coins
  if (coin === undefined || coins.length !== 1)
    return refuse('invalid_payment', `${coins.length} coins instead of one`)
  if (coin.denom !== terms.token.asset) return refuse('invalid_payment', 'the payer pays another asset')
  return coin.amount === terms.amount ? undefined : refuse('invalid_payment', otherAmount(coin.amount, terms))
}

const checkRecipient: SignedCheck = ({ payment, terms }) => {
  if (payment.tx.send?.to !== terms.payTo)
    return refuse('invalid_payment', 'the payment is to another recipient')
  return payment.payTo === payment.payer ? refuse('invalid_payment', 'the payer pays itself') : undefined
}

/** The stated payer, the sender and the signer must be the same. */
const checkSigner: SignedCheck = ({ payment: { tx, payer }, network: { prefix } }) => {
  const [signer] = tx.signers
  if (signer === undefined || tx.signers.length !== 1)
    return refuse('invalid_payload', `${tx.signers.length} signers instead of one`)
  if (tx.send?.from !== payer) return refuse('invalid_payload', 'the sender is not the payer')
  if (signer.publicKey === undefined)
    return refuse('invalid_payload', 'the signer has no public key of a supported type')
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

export const refuseSignature = (
  { payer, tx }: CosmosPayment,
  { chainId, accountNumber }: { chainId: string; accountNumber: bigint | undefined },
): Refusal =>
  refuse(
    'invalid_payload',
    `not signed by ${payer} with chain_id ${chainId}, account_number ${accountNumber}, sequence ${tx.signers[0]?.sequence}`,
  )

/** Only the payer, or our signer if it offers that, may pay the fee. */
const checkFeePayer: OfflineCheck = ({ payment, network }) => {
  const { payer, granter } = payment.tx.fee
  if (payment.countersigned) return checkCountersigned({ payment, network })
  if (payer !== '' && payer !== payment.payer)
    return refuse('invalid_payload', 'the fee payer is not the payer')
  if (granter === '') return undefined
  if (granter !== network.signer || network.gaslessMaxFee === undefined)
    return refuse('invalid_payload', 'the fee granter is not an account that pays fees here')
  return sponsoredFee(network, payment) === undefined ? refuseFee(network) : undefined
}

/** Direct sign bytes would hold our key and sequence, which the payer cannot know. */
function checkCountersigned({
  payment,
  network,
}: Pick<VerifyContext, 'payment' | 'network'>): Refusal | undefined {
  const { payer, granter } = payment.tx.fee
  if (payer !== network.signer || network.gaslessMaxFee === undefined)
    return refuse('invalid_payload', 'the fee payer is not the payer, and pays no fees here')
  if (granter !== '') return refuse('invalid_payload', 'a fee payer and a fee granter')
  if (payment.tx.signers[0]?.mode !== 'amino')
    return refuse('invalid_payload', 'a fee payer needs SIGN_MODE_LEGACY_AMINO_JSON')
  return paidFee(network, payment) === undefined ? refuseFee(network) : undefined
}

const refuseFee = ({ feeDenom, gaslessMaxFee }: CosmosNetwork): Refusal =>
  refuse('invalid_payment', `a fee that the facilitator pays is at most ${gaslessMaxFee}${feeDenom}`)

/** Payers set higher gas limits than ours, but a limit above this factor is a mistake, or crowds a block. */
const MAX_GAS_FACTOR = 4n

const checkGas: OfflineCheck = ({ payment: { tx }, network: { maxGas } }) => {
  const { gas } = tx.fee
  if (gas < 1n) return refuse('invalid_payment', 'the transaction has no gas')
  return gas <= MAX_GAS_FACTOR * maxGas
    ? undefined
    : refuse('invalid_payment', `a gas limit of ${gas} is more than ${MAX_GAS_FACTOR * maxGas}`)
}

/** The transaction cannot be replaced, so its fee must suffice, in the only denomination whose price we know. */
const checkFee: OfflineCheck = ({ payment: { tx }, network: { feeDenom, gasPrice } }) => {
  const { coins, gas } = tx.fee
  const required = feeFor(gas, gasPrice)
  const offered = coins.find(({ denom }) => denom === feeDenom)?.amount ?? 0n
  return offered < required
    ? refuse(
        'invalid_payment',
        `fee ${offered}${feeDenom}, this network asks ${required}${feeDenom} for ${gas} gas`,
      )
    : undefined
}

export const signedChecks: readonly SignedCheck[] = [
  checkNetwork,
  checkEncoding,
  checkMessages,
  checkCoin,
  checkRecipient,
  checkSigner,
  checkSignatureForm,
  checkUnsignedFields,
]

export const offlineChecks: readonly OfflineCheck[] = [...termsChecks, ...signedChecks]

/** Only for a transaction that is not mined yet: once mined, its fee satisfied the chain. */
export const feeChecks: readonly OfflineCheck[] = [checkFeePayer, checkGas, checkFee]
