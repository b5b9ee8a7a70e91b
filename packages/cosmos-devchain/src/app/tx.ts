import { createHash } from 'node:crypto'
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import { type SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { type Any } from 'cosmjs-types/google/protobuf/any'
import { readAddress } from './address'
import { type Coin, readCoins } from './coins'
import { AbciError, sdkError } from './errors'
import { type Message, readMessage } from './messages'
import { rejectOtherEncodings, rejectUnknownFields } from './wire'

export type Signer = {
  publicKey: Any | undefined
  /** Undefined if the transaction names none. */
  mode: SignMode | 'multi' | undefined
  sequence: bigint
  signature: Uint8Array
}

export type Tx = {
  bytes: Uint8Array
  raw: TxRaw
  body: TxBody
  authInfo: AuthInfo
  messages: Message[]
  signers: Signer[]
  fee: { coins: Coin[]; gas: bigint; payer: string; granter: string } | undefined
  hasUnknownNonCriticals: boolean
  /** Required signers in order: each signer of a message once, then the named fee payer. Throws if one is not an address. */
  requiredSigners(): string[]
}

/** Upper-case hex. */
export const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex').toUpperCase()

/** Decodes like the SDK's `x/auth/tx`, which refuses other bytes with code 2. */
export function decodeTx(bytes: Uint8Array): Tx {
  try {
    return readTx(bytes)
  } catch (problem) {
    // In the SDK the decoder and its caller both add the description.
    throw problem instanceof AbciError && problem.code === 2
      ? sdkError('tx parse error', problem.message)
      : problem
  }
}

function readTx(bytes: Uint8Array): Tx {
  rejectOtherEncodings(bytes)
  rejectUnknownFields(bytes, 'cosmos.tx.v1beta1.TxRaw', false)
  const raw = attempt(() => TxRaw.decode(bytes))
  const hasUnknownNonCriticals = rejectUnknownFields(raw.bodyBytes, 'cosmos.tx.v1beta1.TxBody', true)
  const body = attempt(() => TxBody.decode(raw.bodyBytes))
  rejectUnknownFields(raw.authInfoBytes, 'cosmos.tx.v1beta1.AuthInfo', false)
  const authInfo = attempt(() => AuthInfo.decode(raw.authInfoBytes))
  for (const option of [...body.extensionOptions, ...body.nonCriticalExtensionOptions])
    if (!option.typeUrl.includes('ExtensionOption'))
      throw sdkError(
        'tx parse error',
        `no concrete type registered for type URL ${option.typeUrl} against interface *tx.TxExtensionOptionI`,
      )
  for (const { publicKey } of authInfo.signerInfos) if (publicKey) rejectWrongLength(publicKey)
  const { fee } = authInfo
  const messages = body.messages.map((message) => attempt(() => readMessage(message)))
  let required: string[] | undefined
  return {
    bytes,
    raw,
    body,
    authInfo,
    messages,
    signers: authInfo.signerInfos.map(({ publicKey, modeInfo, sequence }, i) => ({
      publicKey,
      mode: modeInfo?.single ? modeInfo.single.mode : modeInfo?.multi ? 'multi' : undefined,
      sequence,
      signature: raw.signatures[i] ?? new Uint8Array(),
    })),
    fee: fee && {
      coins: readCoins(fee.amount),
      gas: fee.gasLimit,
      payer: fee.payer,
      granter: fee.granter,
    },
    hasUnknownNonCriticals,
    requiredSigners() {
      const named = [...messages.flatMap((message) => message.signers()), ...(fee?.payer ? [fee.payer] : [])]
      return (required ??= [...new Set(named.map(readAddress))])
    },
  }
}

/** The SDK fails to decode a secp256k1 key that is not 33 bytes long. */
function rejectWrongLength({ typeUrl, value }: Any) {
  if (typeUrl !== '/cosmos.crypto.secp256k1.PubKey') return
  const { length } = attempt(() => PubKey.decode(value)).key
  if (length !== 33) throw sdkError('tx parse error', `invalid secp256k1 pubkey length ${length}`)
}

function attempt<T>(read: () => T): T {
  try {
    return read()
  } catch (problem) {
    if (problem instanceof AbciError) throw problem
    throw sdkError('tx parse error', String(problem))
  }
}
