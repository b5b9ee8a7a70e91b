import { createRequire } from 'node:module'
import { ExtendedSecp256k1Signature, Secp256k1, Secp256k1Signature } from '@cosmjs/crypto'
import type * as Native from 'secp256k1'

/** What is asked of secp256k1; each may throw where a number is none of the curve’s. */
type Curve = {
  recover(digest: Uint8Array, signature: Uint8Array, recovery: number): Uint8Array
  verify(digest: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean
  uncompress(publicKey: Uint8Array): Uint8Array
}

/** The native library, loaded past its own fallback: what cannot be loaded is done by an audited library instead. */
function loadNative(): Curve | undefined {
  try {
    const native = createRequire(__filename)('secp256k1/bindings') as typeof Native
    return {
      recover: (digest, signature, recovery) => native.ecdsaRecover(signature, recovery, digest, false),
      verify: (digest, signature, publicKey) => native.ecdsaVerify(signature, digest, publicKey),
      uncompress: (publicKey) => native.publicKeyConvert(publicKey, false),
    }
  } catch {
    return undefined
  }
}

/** The same by an audited library in JavaScript, where the native one was not built. */
export const slowCurve: Curve = {
  recover: (digest, signature, recovery) =>
    Secp256k1.recoverPubkey(
      ExtendedSecp256k1Signature.fromFixedLength(Uint8Array.of(...signature, recovery)),
      digest,
    ),
  verify: (digest, signature, publicKey) =>
    Secp256k1.verifySignature(Secp256k1Signature.fromFixedLength(signature), digest, publicKey),
  uncompress: (publicKey) => Secp256k1.uncompressPubkey(publicKey),
}

const native = loadNative()

/** Whether signatures are checked by native code, some 20 times faster than what stands in for it elsewhere. */
export const curveIsNative = native !== undefined

const usual = native ?? slowCurve

const HALF_ORDER = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex')

/** Of the two that anyone can make of a signature, chains take the one with the low s (EIP-2; Cosmos SDK likewise). */
const isLow = (signature: Uint8Array) => Buffer.compare(signature.subarray(32), HALF_ORDER) <= 0

/**
 * The uncompressed secp256k1 public key (65 bytes) that signed `digest`. `signature` is r and s, 32 bytes each.
 * Undefined where no key did, and for the high-s twin that anyone can make of a signature (EIP-2).
 */
export function recoverPublicKey(
  digest: Uint8Array,
  signature: Uint8Array,
  recovery: number,
  curve: Curve = usual,
): Uint8Array | undefined {
  if (!isLow(signature)) return undefined
  try {
    return curve.recover(digest, signature, recovery)
  } catch {
    return undefined
  }
}

/**
 * Whether the key made `signature` over `digest` (32 bytes). `signature` is r and s, 32 bytes each and nothing else, and
 * never the high-s twin; `publicKey` is compressed, 33 bytes.
 */
export function isSignature(
  digest: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
  curve: Curve = usual,
): boolean {
  if (signature.length !== 64 || publicKey.length !== 33 || !isLow(signature)) return false
  try {
    return curve.verify(digest, signature, publicKey)
  } catch {
    return false
  }
}

/** The same point of the curve in 65 bytes; undefined where `publicKey` is no compressed one (33 bytes). */
export function uncompressPublicKey(publicKey: Uint8Array, curve: Curve = usual): Uint8Array | undefined {
  if (publicKey.length !== 33) return undefined
  try {
    return curve.uncompress(publicKey)
  } catch {
    return undefined
  }
}
