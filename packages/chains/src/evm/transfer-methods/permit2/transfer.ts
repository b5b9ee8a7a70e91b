import { id } from 'ethers'
import { addressWord, bytesWord, functionCall, trailingBytes, uintWord } from '../../abi'
import { sameAddress } from '../../address'
import type { Log, Receipt } from '../../rpc-schemas'
import { allowanceCall, eventsOf, isTransferFrom, isTransferOf } from '../../tokens/erc20'
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
const NAME = 'Permit2'
const NAME_HASH = id(NAME)

const hashOfWords = (...words: string[]): string => keccakOfHex(words.join(''))

/** The EIP-712 domain in which the payer signs. */
export const domainOf = (chainId: string) => ({
  name: NAME,
  chainId: Number(chainId),
  verifyingContract: PERMIT2,
})

/** The EIP-712 digest that the payer signed, in the domain of Permit2. */
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
/** By selector: the number of words before those that both calls have. */
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

/** The words that identify a settlement. Deadline and validAfter may differ between signatures of one nonce. */
const whatMoves = ([asset, amount, nonce, , payer, payTo]: readonly string[]): string =>
  [asset, amount, nonce, payer, payTo].join('')

/** The payment's permit if it is for exactly this amount, as the proxy requires. */
export const fittingPermit = ({ payer, asset, amount, permit }: PermittedPayment): TokenPermit | undefined =>
  permit !== undefined &&
  permit.owner === payer &&
  permit.asset === asset &&
  permit.value === amount &&
  sameAddress(permit.spender, PERMIT2)
    ? permit
    : undefined

/**
 * The call of the proxy that settles the payment, with the token's permit if there is one. The proxy ignores a permit that
 * fails, because a third party may have submitted it already. `signature`: see `signatureToSend`.
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
/** The length of the input that identifies the settlement. */
export const HEAD_BYTES = 4 + 32 * 12

export type Call = { to: string; input: string }

/** Whether the call settles some payment if it succeeds. */
export const asksToSettle = ({ to, input }: Call): boolean =>
  sameAddress(to, PROXY) && wordsInFront.has(input.slice(0, SELECTOR_LENGTH))

/** Whether the call settles this payment if it succeeds. It fails if the nonce is used. */
export function isSettlementCall({ to, input }: Call, payment: PermittedPayment): boolean {
  const inFront = wordsInFront.get(input.slice(0, SELECTOR_LENGTH))
  if (!sameAddress(to, PROXY) || inFront === undefined) return false
  const words = settleWords(payment)
  const start = SELECTOR_LENGTH + inFront * WORD_LENGTH
  const given = words.map((_, i) => input.slice(start + i * WORD_LENGTH, start + (i + 1) * WORD_LENGTH))
  return whatMoves(given) === whatMoves(words)
}

const SETTLED = [id('Settled()'), id('SettledWithPermit()')]

/** A filter for the proxy's events, which do not identify the payment. */
export const settlementEvents = { address: PROXY, topics: [SETTLED] }

const proxyEvents = (logs: readonly Log[]): Log[] =>
  eventsOf(logs, PROXY).filter(({ topics: [event = ''] }) => SETTLED.includes(event))

/**
 * For a transaction sent for this payment alone: exactly one settlement by the proxy, and a transfer of exactly its amount
 * from its payer to its recipient. The payer's hook (ERC-777) may add other transfers. Equal payments emit equal events, so
 * they never share a transaction.
 */
export const holdsTransfer = (
  { logs }: Pick<Receipt, 'logs'>,
  asset: string,
  payment: PermittedPayment,
): boolean =>
  proxyEvents(logs).length === 1 && eventsOf(logs, asset).some((log) => isTransferOf(log, payment))

/** For a transaction sent for this payment alone that does not settle it. */
export const holdsOtherTransfer = ({ logs }: Receipt, asset: string, payment: PermittedPayment): boolean =>
  proxyEvents(logs).length === 1 && eventsOf(logs, asset).some((log) => isTransferFrom(log, payment))

const nonceBitmap = functionCall('nonceBitmap(address,uint256)')
const nonces = functionCall('nonces(address)')

export const questions = {
  nonceWord: ({ payer, permitNonce }: PermittedPayment) =>
    nonceBitmap(addressWord(payer), uintWord(permitNonce >> 8n)),
  allowance: ({ payer }: Pick<PermittedPayment, 'payer'>) => allowanceCall(payer, PERMIT2),
  permitNonce: ({ payer }: Pick<PermittedPayment, 'payer'>) => nonces(addressWord(payer)),
}

/** Whether the nonce is used or invalidated. `word`: its word of the nonce bitmap. */
export const isUsedIn = (word: bigint, { permitNonce }: PermittedPayment): boolean =>
  ((word >> (permitNonce & 255n)) & 1n) === 1n
