import { createRequire } from 'node:module'
import { SigningKey } from 'ethers'
import type * as Secp256k1 from 'secp256k1'

type Recover = (digest: Uint8Array, signature: Uint8Array, recovery: number) => Uint8Array

/** The native library, loaded past its own fallback: what cannot be loaded is done by an audited library instead. */
function loadNative(): Recover | undefined {
  try {
    const native = createRequire(__filename)('secp256k1/bindings') as typeof Secp256k1
    return (digest, signature, recovery) => native.ecdsaRecover(signature, recovery, digest, false)
  } catch {
    return undefined
  }
}

/** The same by an audited library in JavaScript, where the native one was not built. */
export const recoverSlowly: Recover = (digest, signature, recovery) => {
  const [r, s] = [signature.subarray(0, 32), signature.subarray(32)].map(
    (half) => `0x${Buffer.from(half).toString('hex')}`,
  ) as [string, string]
  return Buffer.from(SigningKey.recoverPublicKey(digest, { r, s, v: 27 + recovery }).slice(2), 'hex')
}

const native = loadNative()

/** Whether signatures are checked by native code, some 20 times faster than what stands in for it elsewhere. */
export const curveIsNative = native !== undefined

const HALF_ORDER = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex')

/**
 * The uncompressed secp256k1 public key (65 bytes) that signed `digest`. `signature` is r and s, 32 bytes each.
 * Undefined where no key did, and for the high-s twin that anyone can make of a signature (EIP-2).
 */
export function recoverPublicKey(
  digest: Uint8Array,
  signature: Uint8Array,
  recovery: number,
  recover: Recover = native ?? recoverSlowly,
): Uint8Array | undefined {
  if (Buffer.compare(signature.subarray(32), HALF_ORDER) > 0) return undefined
  try {
    return recover(digest, signature, recovery)
  } catch {
    return undefined
  }
}
