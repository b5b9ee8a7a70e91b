import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { ChainUnavailable } from '../../errors'
import { type Terms } from '../../family'
import { addressOf, parseAddress } from '../address'
import type { TxResult } from '../rpc-schemas'
import type { CosmosNetwork } from '../network'
import type { CosmosPayment } from '../transfer-methods/bank-send/payment'
import { readPublicKey } from '../signing/public-key'

type SignedPayment = Pick<CosmosPayment, 'payer' | 'tx'>

/** Accepts any encoding, as the chain did: a payment signed in amino JSON can be mined in other bytes than its payer's. */
function decodeResult({ txBytes, hash }: TxResult) {
  try {
    const raw = TxRaw.decode(txBytes)
    const { messages } = TxBody.decode(raw.bodyBytes)
    const { signerInfos: signers, fee } = AuthInfo.decode(raw.authInfoBytes)
    const [message] = messages
    const send =
      messages.length === 1 && message?.typeUrl === MsgSend.typeUrl
        ? MsgSend.decode(message.value)
        : undefined
    return { send, signers, fee }
  } catch (error) {
    throw new ChainUnavailable(`The node responded to ${hash} with a malformed transaction`, { cause: error })
  }
}

export const sequenceOfPayment = ({ tx }: SignedPayment): bigint => tx.signers[0]?.sequence ?? 0n

export const hasSequence = (result: TxResult, sequence: bigint): boolean =>
  decodeResult(result).signers.some((signer) => signer.sequence === sequence)

/** Whether the transaction made exactly the payment's send, with the same sequence of the same payer. */
export function settles(result: TxResult, payment: SignedPayment, { token, payTo, amount }: Terms): boolean {
  const { send, signers } = decodeResult(result)
  if (result.code !== 0 || send === undefined) return false
  const [coin, ...more] = send.amount
  const to = parseAddress(send.toAddress)
  // The sender of the message is the first signer; a fee payer follows.
  return (
    signers[0]?.sequence === sequenceOfPayment(payment) &&
    parseAddress(send.fromAddress) === payment.payer &&
    to !== undefined &&
    to === parseAddress(payTo) &&
    more.length === 0 &&
    coin?.denom === token.asset &&
    parseAmount(coin.amount) === amount
  )
}

/** The place (see `Transfer`): a transaction that settles a payment has one message. */
export const ONLY_TRANSFER = '0'

/** Reads an amount as Go's big.Int does: also +5, 0x2710 and 1_000, and 010 as eight. */
function parseAmount(text: string): bigint | undefined {
  const [, digits] = /^\+?([0-9][0-9a-z_]*)$/i.exec(text) ?? []
  if (digits === undefined) return undefined
  const plain = digits.replaceAll('_', '')
  try {
    return BigInt(/^0[0-9]/.test(plain) ? `0o${plain}` : plain)
  } catch {
    return undefined
  }
}

/** The sequence that the transaction used, with its account; undefined if the transaction does not determine them. */
export function usedSequence(
  result: TxResult,
  { prefix }: Pick<CosmosNetwork, 'prefix'>,
): { address: string; sequence: bigint } | undefined {
  const { send, signers } = decodeResult(result)
  const [signer] = signers
  const key = signer?.publicKey && readPublicKey(signer.publicKey)
  const address = send === undefined ? key && addressOf(key, prefix) : parseAddress(send.fromAddress)
  return signer && address !== undefined ? { address, sequence: signer.sequence } : undefined
}

/** The fee that our signer paid, in smallest units of the fee denomination. */
export function feeOf(result: TxResult, { signer, prefix, feeDenom }: CosmosNetwork): bigint {
  const { signers, fee } = decodeResult(result)
  if (fee === undefined || !result.isCharged) return 0n
  const key = signers[0]?.publicKey && readPublicKey(signers[0].publicKey)
  // x/feegrant: the granter pays, else the payer, else the first signer.
  const feePayer = fee.granter || fee.payer || (key && addressOf(key, prefix))
  if (feePayer === undefined || parseAddress(feePayer) !== signer) return 0n
  return fee.amount.reduce(
    (sum, { denom, amount }) => sum + (denom === feeDenom ? (parseAmount(amount) ?? 0n) : 0n),
    0n,
  )
}
