import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { ChainUnavailable, type Terms } from '../family'
import { addressOf, parseAddress } from './address'
import type { TxResult } from './answers'
import type { CosmosNetwork } from './network'
import type { CosmosPayment } from './payment'
import { readPublicKey } from './public-key'

type Signed = Pick<CosmosPayment, 'payer' | 'tx'>

/**
 * What a transaction in a block says, by its meaning: the chain has judged its encoding. Who carries a payment that was signed
 * in amino JSON may have encoded it otherwise than its payer, and it is that payment all the same.
 */
function read({ txBytes, hash }: TxResult) {
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
    throw new ChainUnavailable(`The node answers ${hash} with what is no transaction`, { cause: error })
  }
}

/** The sequence that the payment's transaction takes of its payer's account. */
export const sequenceOfPayment = ({ tx }: Signed): bigint => tx.signers[0]?.sequence ?? 0n

/** Whether the transaction names this sequence as one of its signers'. */
export const hasSequence = (result: TxResult, sequence: bigint): boolean =>
  read(result).signers.some((signer) => signer.sequence === sequence)

/** Whether the transaction did exactly what the payment is to do: its one message, under the same sequence of the same payer. */
export function settles(result: TxResult, payment: Signed, { token, payTo, amount }: Terms): boolean {
  const { send, signers } = read(result)
  if (result.code !== 0 || send === undefined) return false
  const [coin, ...more] = send.amount
  const to = parseAddress(send.toAddress)
  // Who signs the message comes before who else pays the fee.
  return (
    signers[0]?.sequence === sequenceOfPayment(payment) &&
    parseAddress(send.fromAddress) === payment.payer &&
    to !== undefined &&
    to === parseAddress(payTo) &&
    more.length === 0 &&
    coin?.denom === token.asset &&
    amountOf(coin.amount) === amount
  )
}

/**
 * As chains read it, which take whatever Go's big integers do: +5, 0x2710 and 1_000 as well, and 010 as eight, whatever sign is
 * before it.
 */
function amountOf(text: string): bigint | undefined {
  const [, digits] = /^\+?([0-9][0-9a-z_]*)$/i.exec(text) ?? []
  if (digits === undefined) return undefined
  const plain = digits.replaceAll('_', '')
  try {
    return BigInt(/^0[0-9]/.test(plain) ? `0o${plain}` : plain)
  } catch {
    return undefined
  }
}

/** Whose sequence the transaction took, and which; undefined where it does not say. */
export function takenBy(
  result: TxResult,
  { prefix }: Pick<CosmosNetwork, 'prefix'>,
): { address: string; sequence: bigint } | undefined {
  const { send, signers } = read(result)
  const [signer] = signers
  const key = signer?.publicKey && readPublicKey(signer.publicKey)
  const address = send === undefined ? key && addressOf(key, prefix) : parseAddress(send.fromAddress)
  return signer && address !== undefined ? { address, sequence: signer.sequence } : undefined
}

/** What the transaction cost our signer, in smallest units of the fee denomination. */
export function feeOf(result: TxResult, { signer, prefix, feeDenom }: CosmosNetwork): bigint {
  const { signers, fee } = read(result)
  if (fee === undefined || !result.isCharged) return 0n
  const key = signers[0]?.publicKey && readPublicKey(signers[0].publicKey)
  // x/feegrant: a granter pays before a payer, and the first signer where neither is named.
  const bearer = fee.granter || fee.payer || (key && addressOf(key, prefix))
  if (bearer === undefined || parseAddress(bearer) !== signer) return 0n
  return fee.amount.reduce(
    (sum, { denom, amount }) => sum + (denom === feeDenom ? (amountOf(amount) ?? 0n) : 0n),
    0n,
  )
}
