import { makeSignDoc as makeAminoSignDoc, serializeSignDoc } from '@cosmjs/amino'
import { makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import type { Coin, Send, Tx } from './tx'

/** What is signed along with a transaction, so that it is good on one chain and for one account only. */
type Place = { chainId: string; accountNumber: bigint }

/**
 * What the first signer signed, rebuilt: the SignDoc of SIGN_MODE_DIRECT, or the JSON of SIGN_MODE_LEGACY_AMINO_JSON, which
 * names everything of a transaction with one MsgSend. Undefined for another mode, another message, and for a memo that
 * implementations write in JSON in more than one way.
 */
export function signBytesOf(tx: Tx, { chainId, accountNumber }: Place): Uint8Array | undefined {
  const { send, signers, bodyBytes, authInfoBytes } = tx
  const [signer] = signers
  if (signer?.mode === 'direct')
    return makeSignBytes(makeSignDoc(bodyBytes, authInfoBytes, chainId, accountNumber))
  if (signer?.mode !== 'amino' || send === undefined || ambiguous.test(tx.memo)) return undefined
  return aminoSignBytes(tx, send, { chainId, accountNumber, sequence: signer.sequence })
}

/** Escaped by some and not by others (backspace and form feed; line and paragraph separators). */
const ambiguous = /[\b\f\u2028\u2029]/

function aminoSignBytes(
  { memo, timeoutHeight, fee }: Tx,
  { from, to, coins }: Send,
  { chainId, accountNumber, sequence }: Place & { sequence: bigint },
): Uint8Array | undefined {
  if (sequence > Number.MAX_SAFE_INTEGER) return undefined
  const value = { from_address: from, to_address: to, amount: coins.map(written) }
  const { payer, granter } = fee
  const signDoc = makeAminoSignDoc(
    [{ type: 'cosmos-sdk/MsgSend', value }],
    {
      amount: fee.coins.map(written),
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

const written = ({ denom, amount }: Coin) => ({ denom, amount: amount.toString() })
