import { createHash, createPublicKey, verify } from 'node:crypto'
import { keccak256, Secp256k1, Secp256k1Signature } from '@cosmjs/crypto'
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import { type Any } from 'cosmjs-types/google/protobuf/any'
import { addressOf } from './address'

type Key = {
  type: 'secp256k1' | 'ethsecp256k1'
  /** 33 bytes, compressed. */
  bytes: Uint8Array
}

const TYPES: Record<string, Key['type']> = {
  '/cosmos.crypto.secp256k1.PubKey': 'secp256k1',
  '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey': 'ethsecp256k1',
  '/ethermint.crypto.v1.ethsecp256k1.PubKey': 'ethsecp256k1',
  '/injective.crypto.v1beta1.ethsecp256k1.PubKey': 'ethsecp256k1',
}

const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
/** SubjectPublicKeyInfo of a compressed point on secp256k1, up to the point. */
const SPKI = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex')

const digest = (name: string, bytes: Uint8Array) => createHash(name).update(bytes).digest()

/** A single key; undefined for a multisig and for other curves. */
export function readKey(any: Any): Key | undefined {
  const type = TYPES[any.typeUrl]
  if (!type) return undefined
  const bytes = PubKey.decode(any.value).key
  return bytes.length === 33 ? { type, bytes } : undefined
}

/** Undefined if the key is not a point of the curve. */
export function addressOfKey({ type, bytes }: Key): string | undefined {
  if (type === 'secp256k1') return addressOf(digest('ripemd160', digest('sha256', bytes)))
  try {
    return addressOf(keccak256(Secp256k1.uncompressPubkey(bytes).subarray(1)).subarray(-20))
  } catch {
    return undefined
  }
}

/** A cache of valid signatures: each transaction is checked before its block and in it. */
const proven = new Set<string>()
const MOST_PROVEN = 10_000

/** ECDSA over the sign bytes: 64 bytes of r and low s, with SHA-256, or Keccak-256 for an Ethereum key. */
export function isSignedBy(key: Key, signBytes: Uint8Array, signature: Uint8Array): boolean {
  const parts = [Buffer.from(key.type), key.bytes, signature, signBytes].map((part) => digest('sha256', part))
  const name = digest('sha256', Buffer.concat(parts)).toString('base64')
  if (proven.has(name)) return true
  if (!verifies(key, signBytes, signature)) return false
  if (proven.size >= MOST_PROVEN) proven.clear()
  proven.add(name)
  return true
}

function verifies({ type, bytes }: Key, signBytes: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== 64) return false
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`)
  if (s > HALF_ORDER) return false
  try {
    if (type === 'ethsecp256k1')
      return Secp256k1.verifySignature(
        Secp256k1Signature.fromFixedLength(signature),
        keccak256(signBytes),
        bytes,
      )
    const key = createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' })
    return verify('sha256', signBytes, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    return false
  }
}
