import { id } from 'ethers'
import { addressWord, bytesWord, functionCall, trailingBytes, uintWord } from '../../abi'
import { sameAddress } from '../../address'
import type { Log, Receipt } from '../../rpc-schemas'
import { eventsOf, isTransferFrom, isTransferOf } from '../../tokens/erc20'
import { splitSignature } from '../../signing/signature'
import { keccakOfHex, typedDigest } from '../../signing/typed-data'
import { PERMIT2, PROXY } from './contracts'
import type { PermittedPayment, TokenPermit } from './payment'

const DOMAIN_TYPE = id('EIP712Domain(string name,uint256 chainId,address verifyingContract)')
const TOKEN_TYPE = 'TokenPermissions(address token,uint256 amount)'
const WITNESS_TYPE = 'Witness(address to,uint256 validAfter)'
const [TOKEN_HASH, WITNESS_HASH] = [id(TOKEN_TYPE), id(WITNESS_TYPE)]
const TRANSFER_HASH = id(
  `PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)${TOKEN_TYPE}${WITNESS_TYPE}`,
)
const NAME_HASH = id('Permit2')

const hashOfWords = (...words: string[]): string => keccakOfHex(words.join(''))

/** What the payer signed: the EIP-712 digest of the transfer and its witness, in the domain of Permit2. */
export function digestOf(payment: PermittedPayment, chainId: string): Uint8Array {
  const { asset, amount, spender, permitNonce, deadline, payTo, validAfter } = payment
  const separator = hashOfWords(
    bytesWord(DOMAIN_TYPE),
    bytesWord(NAME_HASH),
    uintWord(BigInt(chainId)),
    addressWord(PERMIT2),
  )
  const permitted = hashOfWords(bytesWord(TOKEN_HASH), addressWord(asset), uintWord(amount))
  const witness = hashOfWords(bytesWord(WITNESS_HASH), addressWord(payTo), uintWord(validAfter))
  const struct = hashOfWords(
    bytesWord(TRANSFER_HASH),
    bytesWord(permitted),
    addressWord(spender),
    uintWord(permitNonce),
    uintWord(deadline),
    bytesWord(witness),
  )
  return typedDigest(separator, struct)
}

const PERMIT_ARGUMENTS = '((address,uint256),uint256,uint256),address,(address,uint256),bytes'
const settle = functionCall(`settle(${PERMIT_ARGUMENTS})`)
const settleWithPermit = functionCall(
  `settleWithPermit((uint256,uint256,bytes32,bytes32,uint8),${PERMIT_ARGUMENTS})`,
)
/** By the selector of each, the words in front of those that both have. */
const wordsInFront = new Map([
  [settle(), 0],
  [settleWithPermit(), 5],
])

const settleWords = ({
  asset,
  amount,
  permitNonce,
  deadline,
  payer,
  payTo,
  validAfter,
}: PermittedPayment): string[] => [
  addressWord(asset),
  uintWord(amount),
  uintWord(permitNonce),
  uintWord(deadline),
  addressWord(payer),
  addressWord(payTo),
  uintWord(validAfter),
]

/** What the proxy moves, and by which nonce: the deadline and the start of a signature are its payer's own affair. */
const whatMoves = ([asset, amount, nonce, , payer, payTo]: readonly string[]): string =>
  [asset, amount, nonce, payer, payTo].join('')

/** The payment's own permit, where it is made out for this payment: exactly its amount, which the proxy insists on. */
export const fittingPermit = ({ payer, asset, amount, permit }: PermittedPayment): TokenPermit | undefined =>
  permit !== undefined &&
  permit.owner === payer &&
  permit.asset === asset &&
  permit.value === amount &&
  sameAddress(permit.spender, PERMIT2)
    ? permit
    : undefined

/**
 * The call of the proxy that settles the payment, the token's permit with it where there is one. The proxy passes over a
 * permit that fails: somebody else may have handed it in, and then Permit2 may move the asset already. `signature`: as Permit2
 * takes it, see `signatureToSend`.
 */
export function settlementCall(payment: PermittedPayment, signature = payment.signature): string {
  const permit = fittingPermit(payment)
  const parts = permit && splitSignature(permit.signature)
  const words = settleWords(payment)
  if (permit === undefined || parts === undefined)
    return settle(...words, ...trailingBytes(signature, words.length))
  const permitWords = [
    uintWord(permit.value),
    uintWord(permit.deadline),
    bytesWord(parts.r),
    bytesWord(parts.s),
    uintWord(parts.v),
  ]
  const all = [...permitWords, ...words]
  return settleWithPermit(...all, ...trailingBytes(signature, all.length))
}

const SELECTOR_LENGTH = 10
const WORD_LENGTH = 64

export const SELECTORS = [...wordsInFront.keys()]
/** Of the input of a call: what tells what it settles. */
export const HEAD_BYTES = 4 + 32 * 12

export type Call = { to: string; input: string }

/** Whether a call asks the proxy to settle something: it does, and says so by an event, or fails. */
export const asksToSettle = ({ to, input }: Call): boolean =>
  sameAddress(to, PROXY) && wordsInFront.has(input.slice(0, SELECTOR_LENGTH))

/** Whether a call of the proxy, if it succeeds, settles this payment; one that is used up makes any such call fail. */
export function isSettlementCall({ to, input }: Call, payment: PermittedPayment): boolean {
  const inFront = wordsInFront.get(input.slice(0, SELECTOR_LENGTH))
  if (!sameAddress(to, PROXY) || inFront === undefined) return false
  const words = settleWords(payment)
  const start = SELECTOR_LENGTH + inFront * WORD_LENGTH
  const given = words.map((_, i) => input.slice(start + i * WORD_LENGTH, start + (i + 1) * WORD_LENGTH))
  return whatMoves(given) === whatMoves(words)
}

const SETTLED = [id('Settled()'), id('SettledWithPermit()')]

/** What the proxy says of what it settled, as a filter: that it did, and not what. */
export const settlementEvents = { address: PROXY, topics: [SETTLED] }

const proxyEvents = (logs: readonly Log[]): Log[] =>
  eventsOf(logs, PROXY).filter(({ topics: [event = ''] }) => SETTLED.includes(event))

/**
 * Whether a transaction that was sent for this payment alone settles it: one settlement by the proxy, and a transfer of exactly
 * its amount from its payer to its recipient. The payer's own hook (ERC-777) may add another one. Equal payments look the same,
 * which is why none shares a transaction.
 */
export const holdsTransfer = ({ logs }: Receipt, asset: string, payment: PermittedPayment): boolean =>
  proxyEvents(logs).length === 1 && eventsOf(logs, asset).some((log) => isTransferOf(log, payment))

/** Whether a transaction that was sent for this payment alone, and does not settle it, moved something else of its payer's. */
export const holdsOtherTransfer = ({ logs }: Receipt, asset: string, payment: PermittedPayment): boolean =>
  proxyEvents(logs).length === 1 && eventsOf(logs, asset).some((log) => isTransferFrom(log, payment))

const nonceBitmap = functionCall('nonceBitmap(address,uint256)')
const nonces = functionCall('nonces(address)')
const allowance = functionCall('allowance(address,address)')

/** The calls by which Permit2 and a token are asked about a payment. */
export const questions = {
  nonceWord: ({ payer, permitNonce }: PermittedPayment) =>
    nonceBitmap(addressWord(payer), uintWord(permitNonce >> 8n)),
  allowance: ({ payer }: PermittedPayment) => allowance(addressWord(payer), addressWord(PERMIT2)),
  permitNonce: ({ payer }: PermittedPayment) => nonces(addressWord(payer)),
}

/** Whether the nonce was used or given up, by the word of the bitmap that it is in. */
export const isUsedIn = (word: bigint, { permitNonce }: PermittedPayment): boolean =>
  ((word >> (permitNonce & 255n)) & 1n) === 1n
