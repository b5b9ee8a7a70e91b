import { makeSignDoc as makeAminoSignDoc, serializeSignDoc } from '@cosmjs/amino'
import { makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import type { Coin, Send, Tx } from './tx'

/** Signed together with the transaction, which binds it to one chain and one account. */
type SigningContext = { chainId: string; accountNumber: bigint }

/**
 * The bytes that the first signer signed, in SIGN_MODE_DIRECT or, for one MsgSend, SIGN_MODE_LEGACY_AMINO_JSON. Undefined
 * for another mode or message, and for a memo whose JSON differs between implementations.
 */
export function signBytesOf(tx: Tx, { chainId, accountNumber }: SigningContext): Uint8Array | undefined {
  const { send, signers, bodyBytes, authInfoBytes } = tx
  const [signer] = signers
  if (signer?.mode === 'direct')
    return makeSignBytes(makeSignDoc(bodyBytes, authInfoBytes, chainId, accountNumber))
  if (signer?.mode !== 'amino' || send === undefined || ambiguous.test(tx.memo)) return undefined
  return aminoSignBytes(tx, send, { chainId, accountNumber, sequence: signer.sequence })
}

/** Only some JSON encoders escape these: backspace, form feed, line and paragraph separators. */
const ambiguous = /[\b\f\u2028\u2029]/

function aminoSignBytes(
  { memo, timeoutHeight, fee }: Tx,
  { from, to, coins }: Send,
  { chainId, accountNumber, sequence }: SigningContext & { sequence: bigint },
): Uint8Array | undefined {
  if (sequence > Number.MAX_SAFE_INTEGER) return undefined
  const value = { from_address: from, to_address: to, amount: coins.map(toAminoCoin) }
  const { payer, granter } = fee
  const signDoc = makeAminoSignDoc(
    [{ type: 'cosmos-sdk/MsgSend', value }],
    {
      amount: fee.coins.map(toAminoCoin),
      gas: fee.gas.toString(),
      ...(payer === '' ? {} : { payer }),
      ...(granter === '' ? {} : { granter }),
    },
    chainId,
    memo,
    accountNumber,
    sequence.toString(),
    timeoutHeight,
  )
  return serializeSignDoc(signDoc)
}

const toAminoCoin = ({ denom, amount }: Coin) => ({ denom, amount: amount.toString() })
