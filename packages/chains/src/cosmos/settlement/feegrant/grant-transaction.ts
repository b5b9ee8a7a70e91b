import { createHash } from 'node:crypto'
import { Secp256k1 } from '@cosmjs/crypto'
import { makeAuthInfoBytes, makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import { TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { Any } from 'cosmjs-types/google/protobuf/any'
import type { SignedTransaction } from '../../../family'
import type { Coin } from '../../signing/tx'

/** The content and the signing context of a transaction that grants allowances. */
export type GrantTransaction = {
  messages: readonly Any[]
  gas: bigint
  fee: Coin
  chainId: string
  accountNumber: bigint
  sequence: bigint
}

/** The compressed public key. */
export const publicKeyOf = (key: Uint8Array): Uint8Array =>
  Secp256k1.compressPubkey(Secp256k1.makeKeypair(key).pubkey)

function encodeParts(key: Uint8Array, { messages, gas, fee, sequence }: GrantTransaction) {
  const pubkey = {
    typeUrl: PubKey.typeUrl,
    value: PubKey.encode(PubKey.fromPartial({ key: publicKeyOf(key) })).finish(),
  }
  const coins = fee.amount === 0n ? [] : [{ denom: fee.denom, amount: fee.amount.toString() }]
  return {
    bodyBytes: TxBody.encode(TxBody.fromPartial({ messages: [...messages] })).finish(),
    authInfoBytes: makeAuthInfoBytes([{ pubkey, sequence }], coins, Number(gas), undefined, undefined),
  }
}

/** Signs in SIGN_MODE_DIRECT. Deterministic: one encoding, and one signature by RFC 6979. */
export function signGrantTransaction(key: Uint8Array, content: GrantTransaction): SignedTransaction {
  const { bodyBytes, authInfoBytes } = encodeParts(key, content)
  const signBytes = makeSignBytes(
    makeSignDoc(bodyBytes, authInfoBytes, content.chainId, content.accountNumber),
  )
  const digest = createHash('sha256').update(signBytes).digest()
  const signature = Secp256k1.createSignature(digest, key)
  const raw = TxRaw.encode({
    bodyBytes,
    authInfoBytes,
    signatures: [Uint8Array.of(...signature.r(32), ...signature.s(32))],
  }).finish()
  return {
    raw: Buffer.from(raw).toString('base64'),
    hash: createHash('sha256').update(raw).digest('hex').toUpperCase(),
  }
}

/** For simulation: as long as the signed transaction, with an empty signature. */
export const encodeUnsigned = (key: Uint8Array, content: GrantTransaction): Uint8Array =>
  TxRaw.encode({ ...encodeParts(key, content), signatures: [new Uint8Array(64)] }).finish()
