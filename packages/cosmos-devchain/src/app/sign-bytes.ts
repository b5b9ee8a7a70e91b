import { SignMode, signModeToJSON } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { SignDoc } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { goTime } from './time'
import { type Signer, type Tx } from './tx'

/** The sign bytes; a string (the reason) if this transaction has none in this mode. */
export function signBytesOf(
  tx: Tx,
  signer: Signer,
  { chainId, accountNumber, sequence }: { chainId: string; accountNumber: bigint; sequence: bigint },
): Uint8Array | string {
  const { bodyBytes, authInfoBytes } = tx.raw
  if (signer.mode === SignMode.SIGN_MODE_DIRECT)
    return SignDoc.encode({ bodyBytes, authInfoBytes, chainId, accountNumber }).finish()
  if (signer.mode !== SignMode.SIGN_MODE_LEGACY_AMINO_JSON)
    return unsupported(signer, tx.fee?.payer || (tx.requiredSigners()[0] ?? ''))

  const { body, fee, messages } = tx
  if (tx.hasUnknownNonCriticals) return 'SIGN_MODE_LEGACY_AMINO_JSON does not support unknown fields'
  if (body.extensionOptions.length + body.nonCriticalExtensionOptions.length > 0)
    return 'SIGN_MODE_LEGACY_AMINO_JSON does not support protobuf extension options: invalid request'
  const parts = messages.map((message) => message.amino())
  if (parts.includes(undefined)) return 'a message has no amino form on this chain'
  const { fee: signedFee } = tx.authInfo
  return Buffer.from(
    canonicalJson({
      account_number: accountNumber.toString(),
      chain_id: chainId,
      fee: {
        amount: signedFee?.amount ?? [],
        gas: (fee?.gas ?? 0n).toString(),
        ...(fee?.granter && { granter: fee.granter }),
        ...(fee?.payer && { payer: fee.payer }),
      },
      memo: body.memo,
      msgs: parts,
      sequence: sequence.toString(),
      ...(body.timeoutHeight > 0n && { timeout_height: body.timeoutHeight.toString() }),
      ...(body.timeoutTimestamp && { timeout_timestamp: goTime(body.timeoutTimestamp) }),
    }),
  )
}

function unsupported({ mode }: Signer, feePayer: string): string {
  if (mode === SignMode.SIGN_MODE_TEXTUAL) return 'unable to verify single signer signature'
  if (mode === SignMode.SIGN_MODE_DIRECT_AUX)
    return `fee payer ${feePayer} cannot sign with SIGN_MODE_DIRECT_AUX: unauthorized`
  return `unsupported sign mode ${typeof mode === 'number' ? signModeToJSON(mode) : mode}`
}

const ESCAPED = /[<>&\u2028\u2029]/g

/** Sorted keys, no spaces, and the HTML escapes of Go's `encoding/json`. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([key, of]) => `${canonicalJson(key)}:${canonicalJson(of)}`).join(',')}}`
  }
  return JSON.stringify(value).replace(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
