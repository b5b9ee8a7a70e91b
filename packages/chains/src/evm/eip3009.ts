import { id } from 'ethers'
import { keccak256 } from '../keccak'
import { addressTopic, addressWord, bytesWord, functionCall, trailingBytes, uintWord } from './abi'
import type { Log } from './answers'
import type { EvmPayment } from './payment'
import { recoverSigner, splitSignature } from './signature'

const AUTHORIZATION_ARGUMENTS = 'address,address,uint256,uint256,uint256,bytes32'
const transferByKey = functionCall(
  `transferWithAuthorization(${AUTHORIZATION_ARGUMENTS},uint8,bytes32,bytes32)`,
)
const transferByWallet = functionCall(`transferWithAuthorization(${AUTHORIZATION_ARGUMENTS},bytes)`)
const authorizationState = functionCall('authorizationState(address,bytes32)')
const balanceOf = functionCall('balanceOf(address)')

const DOMAIN_TYPE = id('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)')
const TRANSFER_TYPE = id(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)
const AUTHORIZATION_USED = id('AuthorizationUsed(address,bytes32)')
const AUTHORIZATION_CANCELED = id('AuthorizationCanceled(address,bytes32)')
const TRANSFER = id('Transfer(address,address,uint256)')

const keccakOfHex = (hex: string): string => keccak256(Buffer.from(hex, 'hex'))

/** The EIP-712 domain separator, in hex, of a token contract on a chain. */
export const domainSeparator = (name: string, version: string, chainId: string, asset: string): string =>
  keccakOfHex(
    bytesWord(DOMAIN_TYPE) +
      bytesWord(id(name)) +
      bytesWord(id(version)) +
      uintWord(BigInt(chainId)) +
      addressWord(asset),
  )

const authorizationWords = ({
  payer,
  payTo,
  amount,
  validAfter,
  validBefore,
  nonce,
}: EvmPayment): string[] => [
  addressWord(payer),
  addressWord(payTo),
  uintWord(amount),
  uintWord(validAfter),
  uintWord(validBefore),
  bytesWord(nonce),
]

/** What the payer signed: the EIP-712 digest of the authorization in the token's domain. */
export function authorizationDigest(payment: EvmPayment, separator: string): Uint8Array {
  const struct = keccakOfHex(bytesWord(TRANSFER_TYPE) + authorizationWords(payment).join(''))
  return Buffer.from(keccakOfHex(`1901${bytesWord(separator)}${bytesWord(struct)}`).slice(2), 'hex')
}

/** Whether the payer's own key signed; if not, the payer may still be a contract that vouches for the signature. */
export const isSignedByKey = (payment: EvmPayment, digest: Uint8Array): boolean =>
  recoverSigner(digest, payment.signature) === payment.payer.toLowerCase()

/** The calls by which a token is asked about a payment, and the one that settles it. */
export const calls = {
  isAuthorizationUsed: ({ payer, nonce }: EvmPayment) =>
    authorizationState(addressWord(payer), bytesWord(nonce)),
  balance: (holder: string) => balanceOf(addressWord(holder)),
  /** Tokens of the first edition know signatures of keys only, so those go the way that all of them know. */
  transfer(payment: EvmPayment, signedByKey: boolean): string {
    const words = authorizationWords(payment)
    const parts = signedByKey ? splitSignature(payment.signature) : undefined
    return parts === undefined
      ? transferByWallet(...words, ...trailingBytes(payment.signature, words.length))
      : transferByKey(...words, uintWord(parts.v), bytesWord(parts.r), bytesWord(parts.s))
  },
}

const authorizationTopics = ({ payer, nonce }: EvmPayment): string[] => [addressTopic(payer), nonce]

/** The topics of the event by which a token says that the payment's authorization was used. */
export const usedTopics = (payment: EvmPayment): string[] => [
  AUTHORIZATION_USED,
  ...authorizationTopics(payment),
]

/** The topics, as a filter, of the events by which a token says that the authorization was used or cancelled. */
export const spentTopics = (payment: EvmPayment): (string | string[])[] => [
  [AUTHORIZATION_USED, AUTHORIZATION_CANCELED],
  ...authorizationTopics(payment),
]

/**
 * Whether these logs of one transaction hold the transfer of this very payment: the token's AuthorizationUsed with its
 * payer and nonce, and as the token's next event the Transfer of exactly its amount to its recipient. A Transfer
 * elsewhere in the transaction may belong to another payment.
 */
export function holdsTransfer(logs: readonly Log[], asset: string, payment: EvmPayment): boolean {
  const ofToken = logs.filter((log) => log.address === asset.toLowerCase())
  const used = usedTopics(payment)
  const transfer = [TRANSFER, addressTopic(payment.payer), addressTopic(payment.payTo)]
  const says = (log: Log | undefined, topics: string[]) =>
    log?.topics.length === topics.length && topics.every((topic, i) => log.topics[i] === topic)
  return ofToken.some((log, i) => {
    const next = ofToken[i + 1]
    return says(log, used) && says(next, transfer) && next?.data === `0x${uintWord(payment.amount)}`
  })
}
