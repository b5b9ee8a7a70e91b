import { createHash } from 'node:crypto'
import { Secp256k1 } from '@cosmjs/crypto'
import { makeAuthInfoBytes, makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import { TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { Any } from 'cosmjs-types/google/protobuf/any'
import type { SignedTransaction } from '../../family'
import type { Coin } from '../tx'

/** What a transaction of our own says, and the place in which it is good. */
export type Own = {
  messages: readonly Any[]
  gas: bigint
  fee: Coin
  chainId: string
  accountNumber: bigint
  sequence: bigint
}

/** The compressed public key (33 bytes) of a private one (32 bytes). */
export const publicKeyOf = (key: Uint8Array): Uint8Array =>
  Secp256k1.compressPubkey(Secp256k1.makeKeypair(key).pubkey)

function parts(key: Uint8Array, { messages, gas, fee, sequence }: Own) {
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

/** Signed by `key` (SIGN_MODE_DIRECT), one encoding of it and one signature (RFC 6979): what is stored is what is sent. */
export function signOwn(key: Uint8Array, own: Own): SignedTransaction {
  const { bodyBytes, authInfoBytes } = parts(key, own)
  const signBytes = makeSignBytes(makeSignDoc(bodyBytes, authInfoBytes, own.chainId, own.accountNumber))
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

/** As long as the signed one, to be simulated, and worth nothing to whoever sees it: nobody signed it. */
export const unsigned = (key: Uint8Array, own: Own): Uint8Array =>
  TxRaw.encode({ ...parts(key, own), signatures: [new Uint8Array(64)] }).finish()
