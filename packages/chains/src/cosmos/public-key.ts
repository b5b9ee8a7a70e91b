import { createHash } from 'node:crypto'
import { isSignature, uncompressPublicKey } from '../curve'
import { keccak256 } from '../keccak'

/** A point of secp256k1, compressed (33 bytes), and what its signatures are over: a SHA-256 or a Keccak-256 digest. */
export type PublicKey = { type: 'secp256k1' | 'ethsecp256k1'; bytes: Uint8Array }

/** What chains call the two: `ethsecp256k1` is one thing under the names of whoever took it over. */
const types: ReadonlyMap<string, PublicKey['type']> = new Map([
  ['/cosmos.crypto.secp256k1.PubKey', 'secp256k1'],
  ['/injective.crypto.v1beta1.ethsecp256k1.PubKey', 'ethsecp256k1'],
  ['/ethermint.crypto.v1.ethsecp256k1.PubKey', 'ethsecp256k1'],
  ['/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', 'ethsecp256k1'],
])

/** `bytes key = 1` of 33 bytes, as every one of them is encoded; ADR-027 leaves no second way. */
const KEY_FIELD = Uint8Array.of(0x0a, 33)

/** The key in a signer info (protobuf `Any`); undefined where it is of another type, no point, or not encoded canonically. */
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

/** Whether `bytes` are a compressed point of the curve. */
export const isPoint = (bytes: Uint8Array): boolean => uncompressPublicKey(bytes) !== undefined

/** Whether the key signed these bytes. `signature` is r and s in exactly 64 bytes; the high-s twin of one is none. */
export const isSignedBy = (
  { type, bytes }: PublicKey,
  signBytes: Uint8Array,
  signature: Uint8Array,
): boolean => isSignature(digests[type](signBytes), signature, bytes)

const digests: Record<PublicKey['type'], (bytes: Uint8Array) => Uint8Array> = {
  secp256k1: (bytes) => createHash('sha256').update(bytes).digest(),
  ethsecp256k1: (bytes) => Buffer.from(keccak256(bytes).slice(2), 'hex'),
}
