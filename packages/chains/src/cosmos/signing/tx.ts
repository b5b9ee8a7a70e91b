import { createHash } from 'node:crypto'
import { BinaryReader } from 'cosmjs-types/binary'
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, Fee, type SignerInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { type PublicKey, readPublicKey } from './public-key'

/** An amount of one denomination, in its smallest unit. */
export type Coin = { denom: string; amount: bigint }

/** Addresses as the transaction spells them. */
export type Send = { from: string; to: string; coins: readonly Coin[] }

type Message = { typeUrl: string; value: Uint8Array }

type Signer = {
  /** Undefined if missing, or of a type that cannot sign payments. */
  publicKey: PublicKey | undefined
  /** SIGN_MODE_DIRECT or SIGN_MODE_LEGACY_AMINO_JSON of a single key; undefined for any other. */
  mode: 'direct' | 'amino' | undefined
  sequence: bigint
}

/** A decoded transaction; nothing in it is checked. */
export type Tx = {
  /** SHA-256 of the bytes, in upper-case hex. */
  hash: string
  bytes: Uint8Array
  bodyBytes: Uint8Array
  authInfoBytes: Uint8Array
  signatures: readonly Uint8Array[]
  messages: readonly Message[]
  /** The only message, if it is a canonically encoded MsgSend. */
  send: Send | undefined
  memo: string
  /** The last block that can include it; 0 means no limit. */
  timeoutHeight: bigint
  /**
   * Whether the bytes are the canonical encoding (ADR-027) of messages, memo, timeout height, signers and fee, and nothing
   * else: no unknown field, trailing bytes, extension option, timeout timestamp or tip, and not unordered.
   */
  isCanonical: boolean
  signers: readonly Signer[]
  fee: { coins: readonly Coin[]; gas: bigint; payer: string; granter: string }
}

const SEND = '/cosmos.bank.v1beta1.MsgSend'

/** Decodes a TxRaw; undefined if it has no decodable body and auth info. */
export function decodeTx(bytes: Uint8Array): Tx | undefined {
  try {
    return read(bytes)
  } catch {
    // The decoder throws on truncated bytes and on too deep nesting.
    return undefined
  }
}

function read(bytes: Uint8Array): Tx | undefined {
  const raw = TxRaw.decode(bytes.subarray(0, endOfFields(bytes)))
  if (raw.bodyBytes.length === 0 || raw.authInfoBytes.length === 0) return undefined
  const body = TxBody.decode(raw.bodyBytes)
  const authInfo = AuthInfo.decode(raw.authInfoBytes)
  const { messages, memo, timeoutHeight } = body
  const { signerInfos, fee = Fee.fromPartial({}) } = authInfo
  const coins = readCoins(fee.amount)
  const isCanonical =
    coins !== undefined &&
    !holdsSurrogates(memo) &&
    isSame(bytes, TxRaw.encode(raw).finish()) &&
    // Encodes only the known members.
    isSame(raw.bodyBytes, TxBody.encode(TxBody.fromPartial({ messages, memo, timeoutHeight })).finish()) &&
    isSame(raw.authInfoBytes, AuthInfo.encode(AuthInfo.fromPartial({ signerInfos, fee })).finish())
  return {
    hash: createHash('sha256').update(bytes).digest('hex').toUpperCase(),
    bytes,
    ...raw,
    messages,
    send: messages.length === 1 ? messages.map(readSend)[0] : undefined,
    memo,
    timeoutHeight,
    isCanonical,
    signers: signerInfos.map(readSigner),
    fee: { coins: coins ?? [], gas: fee.gasLimit, payer: fee.payer, granter: fee.granter },
  }
}

/** The end of the last complete field. Trailing bytes must not hide the payment: they only make it non-canonical. */
function endOfFields(bytes: Uint8Array): number {
  const reader = new BinaryReader(bytes)
  let end = 0
  try {
    while (end < bytes.length) {
      const [, wireType] = reader.tag()
      reader.skipType(wireType)
      end = reader.pos
    }
  } catch {
    return end
  }
  return end
}

function readSend({ typeUrl, value }: Message): Send | undefined {
  if (typeUrl !== SEND) return undefined
  const message = MsgSend.decode(value)
  const coins = readCoins(message.amount)
  if (coins === undefined || !isSame(value, MsgSend.encode(message).finish())) return undefined
  return { from: message.fromAddress, to: message.toAddress, coins }
}

function readSigner({ publicKey, modeInfo, sequence }: SignerInfo): Signer {
  const single = modeInfo?.multi === undefined ? modeInfo?.single?.mode : undefined
  return {
    publicKey: publicKey && readPublicKey(publicKey),
    mode: single === undefined ? undefined : modes.get(single),
    sequence,
  }
}

const modes = new Map<SignMode, 'direct' | 'amino'>([
  [SignMode.SIGN_MODE_DIRECT, 'direct'],
  [SignMode.SIGN_MODE_LEGACY_AMINO_JSON, 'amino'],
])

/** Undefined unless all amounts are decimal digits: chains also accept `0x2710`, and read 010 as eight. */
function readCoins(coins: readonly { denom: string; amount: string }[]): Coin[] | undefined {
  return coins.every(({ amount }) => plainAmount.test(amount))
    ? coins.map(({ denom, amount }) => ({ denom, amount: BigInt(amount) }))
    : undefined
}

const plainAmount = /^(0|[1-9][0-9]{0,77})$/

/** Our decoder accepts lone surrogates, which no chain does. */
const holdsSurrogates = (text: string): boolean => /\p{Surrogate}/u.test(text)

const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0
