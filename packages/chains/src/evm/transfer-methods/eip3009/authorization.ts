import { id } from 'ethers'
import type { Token } from '../../../family'
import { addressTopic, addressWord, bytesWord, functionCall, trailingBytes, uintWord } from '../../abi'
import type { Log } from '../../rpc-schemas'
import {
  eventsOf,
  isTransferFrom,
  isTransferOf,
  placeOfTransfer,
  sameTopics,
  TRANSFER,
} from '../../tokens/erc20'
import { canonicalSignature, splitSignature } from '../../signing/signature'
import { keccakOfHex, typedDigest } from '../../signing/typed-data'
import type { AuthorizedPayment } from './payment'

const AUTHORIZATION_ARGUMENTS = 'address,address,uint256,uint256,uint256,bytes32'
const transferByKey = functionCall(
  `transferWithAuthorization(${AUTHORIZATION_ARGUMENTS},uint8,bytes32,bytes32)`,
)
const transferByWallet = functionCall(`transferWithAuthorization(${AUTHORIZATION_ARGUMENTS},bytes)`)
const authorizationState = functionCall('authorizationState(address,bytes32)')

const DOMAIN_TYPE = id('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)')
const TRANSFER_TYPE = id(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)
const AUTHORIZATION_USED = id('AuthorizationUsed(address,bytes32)')
const AUTHORIZATION_CANCELED = id('AuthorizationCanceled(address,bytes32)')

/** In hex (EIP-712). */
export const domainSeparator = (name: string, version: string, chainId: string, asset: string): string =>
  keccakOfHex(
    bytesWord(DOMAIN_TYPE) +
      bytesWord(id(name)) +
      bytesWord(id(version)) +
      uintWord(BigInt(chainId)) +
      addressWord(asset),
  )

const MAX_DOMAINS = 1_000
/** A cache: a separator costs four hashes, and every payment needs one. */
const separators = new Map<string, string>()

function separatorOf({ asset, name = '', version = '' }: Token, chainId: string): string {
  const key = JSON.stringify([chainId, asset, name, version])
  const known = separators.get(key)
  if (known !== undefined) return known
  if (separators.size >= MAX_DOMAINS) separators.clear()
  const separator = domainSeparator(name, version, chainId, asset)
  separators.set(key, separator)
  return separator
}

/** The EIP-712 domain of the token, in which the payer signs. */
export const domainOf = ({ name, version, asset }: Token, chainId: string) => ({
  name,
  version,
  chainId: Number(chainId),
  verifyingContract: asset,
})

const authorizationWords = ({
  payer,
  payTo,
  amount,
  validAfter,
  validBefore,
  nonce,
}: AuthorizedPayment): string[] => [
  addressWord(payer),
  addressWord(payTo),
  uintWord(amount),
  uintWord(validAfter),
  uintWord(validBefore),
  bytesWord(nonce),
]

/** The EIP-712 digest that the payer signed. */
export function authorizationDigest(payment: AuthorizedPayment, separator: string): Uint8Array {
  const struct = keccakOfHex(bytesWord(TRANSFER_TYPE) + authorizationWords(payment).join(''))
  return typedDigest(separator, struct)
}

export const digestOf = (payment: AuthorizedPayment, token: Token, chainId: string): Uint8Array =>
  authorizationDigest(payment, separatorOf(token, chainId))

export const calls = {
  isAuthorizationUsed: ({ payer, nonce }: Pick<AuthorizedPayment, 'payer' | 'nonce'>) =>
    authorizationState(addressWord(payer), bytesWord(nonce)),
  /** Uses the v, r, s form for a key's signature, because early tokens lack the form with bytes. */
  transfer(payment: AuthorizedPayment, signedByKey: boolean): string {
    const words = authorizationWords(payment)
    const canonical = signedByKey ? canonicalSignature(payment.signature) : undefined
    const parts = canonical === undefined ? undefined : splitSignature(canonical)
    return parts === undefined
      ? transferByWallet(...words, ...trailingBytes(payment.signature, words.length))
      : transferByKey(...words, uintWord(parts.v), bytesWord(parts.r), bytesWord(parts.s))
  },
}

const authorizationTopics = ({ payer, nonce }: AuthorizedPayment): string[] => [addressTopic(payer), nonce]

export const spentTopics = (payment: AuthorizedPayment): (string | string[])[] => [
  [AUTHORIZATION_USED, AUTHORIZATION_CANCELED],
  ...authorizationTopics(payment),
]

/** All uses and cancellations of the payer's authorizations, and its outgoing transfers. */
export const payerTopics = ({ payer }: AuthorizedPayment): (string | string[])[] => [
  [AUTHORIZATION_USED, AUTHORIZATION_CANCELED, TRANSFER],
  addressTopic(payer),
]

const isUseOf = (log: Log, payment: AuthorizedPayment, events: readonly string[]): boolean => {
  const [event = '', ...rest] = log.topics
  return events.includes(event) && sameTopics(rest, authorizationTopics(payment))
}

/** Used or cancelled. */
export const holdsUse = (logs: readonly Log[], asset: string, payment: AuthorizedPayment): boolean =>
  eventsOf(logs, asset).some((log) => isUseOf(log, payment, [AUTHORIZATION_USED, AUTHORIZATION_CANCELED]))

/**
 * Whether one transaction settles exactly this payment: the token emits AuthorizationUsed with its payer and nonce, and as
 * its next event the Transfer of exactly its amount to its recipient. A Transfer elsewhere in the transaction may belong to
 * another payment.
 */
export const holdsTransfer = (logs: readonly Log[], asset: string, payment: AuthorizedPayment): boolean =>
  placeOf(logs, asset, payment) !== undefined

/** The place (see `Transfer`) of that transfer. */
export function placeOf(logs: readonly Log[], asset: string, payment: AuthorizedPayment): string | undefined {
  const ofToken = eventsOf(logs, asset)
  const use = ofToken.findIndex(
    (log, i) => isUseOf(log, payment, [AUTHORIZATION_USED]) && isTransferOf(ofToken[i + 1], payment),
  )
  return use < 0 ? undefined : placeOfTransfer(ofToken, asset, payment, ofToken[use + 1])
}

/** Whether the use of the authorization moved another amount, or to another recipient. */
export function holdsOtherTransfer(logs: readonly Log[], asset: string, payment: AuthorizedPayment): boolean {
  const ofToken = eventsOf(logs, asset)
  return ofToken.some(
    (log, i) =>
      isUseOf(log, payment, [AUTHORIZATION_USED]) &&
      isTransferFrom(ofToken[i + 1], payment) &&
      !isTransferOf(ofToken[i + 1], payment),
  )
}

/** Whether the authorization was used and no Transfer follows. */
export function holdsBareUse(logs: readonly Log[], asset: string, payment: AuthorizedPayment): boolean {
  const ofToken = eventsOf(logs, asset)
  return ofToken.some(
    (log, i) => isUseOf(log, payment, [AUTHORIZATION_USED]) && !isTransferFrom(ofToken[i + 1], payment),
  )
}

/**
 * Proves that the authorization can no longer settle: it was cancelled, or used for another transfer. A bare use proves
 * nothing, because a node may have omitted the transfer.
 */
export function holdsOtherUse(logs: readonly Log[], asset: string, payment: AuthorizedPayment): boolean {
  return (
    holdsOtherTransfer(logs, asset, payment) ||
    eventsOf(logs, asset).some((log) => isUseOf(log, payment, [AUTHORIZATION_CANCELED]))
  )
}
