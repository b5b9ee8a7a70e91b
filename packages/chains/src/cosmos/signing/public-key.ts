import { createHash } from 'node:crypto'
import { isSignature, uncompressPublicKey } from '../../secp256k1'
import { keccak256 } from '../../keccak'

/** A compressed secp256k1 key (33 bytes). The type selects the digest that it signs: SHA-256 or Keccak-256. */
export type PublicKey = { type: 'secp256k1' | 'ethsecp256k1'; bytes: Uint8Array }

/** Several projects use the same `ethsecp256k1` under their own type URL. */
const types: ReadonlyMap<string, PublicKey['type']> = new Map([
  ['/cosmos.crypto.secp256k1.PubKey', 'secp256k1'],
  ['/injective.crypto.v1beta1.ethsecp256k1.PubKey', 'ethsecp256k1'],
  ['/ethermint.crypto.v1.ethsecp256k1.PubKey', 'ethsecp256k1'],
  ['/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', 'ethsecp256k1'],
])

/** The only canonical encoding (ADR-027) of `bytes key = 1` with 33 bytes. */
const KEY_FIELD = Uint8Array.of(0x0a, 33)

/** The key in a protobuf `Any`; undefined if its type is unknown, or it is invalid or not canonically encoded. */
export function readPublicKey({
  typeUrl,
  value,
}: {
  typeUrl: string
  value: Uint8Array
}): PublicKey | undefined {
  const type = types.get(typeUrl)
  const bytes = value.subarray(KEY_FIELD.length)
  const isField = KEY_FIELD.every((byte, at) => value[at] === byte)
  return type && isField && isPoint(bytes) ? { type, bytes } : undefined
}

export const isPoint = (bytes: Uint8Array): boolean => uncompressPublicKey(bytes) !== undefined

/** `signature` is r and s in exactly 64 bytes, with a low s. */
export const isSignedBy = (
  { type, bytes }: PublicKey,
  signBytes: Uint8Array,
  signature: Uint8Array,
): boolean => isSignature(digests[type](signBytes), signature, bytes)

const digests: Record<PublicKey['type'], (bytes: Uint8Array) => Uint8Array> = {
  secp256k1: (bytes) => createHash('sha256').update(bytes).digest(),
  ethsecp256k1: (bytes) => Buffer.from(keccak256(bytes).slice(2), 'hex'),
}
