import { keccak256 } from '../../keccak'
import { recoverPublicKey } from '../../secp256k1'
import type { ReadSignature } from './wrapped-signature'

const keySignature = /^0x[0-9a-f]{130}$/i
const compactSignature = /^0x[0-9a-f]{128}$/i

const Y_PARITY_BIT = 0x80

/**
 * The form of a key's signature that contracts accept: 65 bytes, v 27 or 28. Converts v of 0 or 1 (hardware wallets) and
 * 64 bytes (EIP-2098). Undefined for any other shape. A high s is kept.
 */
export function canonicalSignature(signature: string): string | undefined {
  if (compactSignature.test(signature)) {
    const bytes = Buffer.from(signature.slice(2), 'hex')
    const s = bytes.readUInt8(32)
    bytes.writeUInt8(s & ~Y_PARITY_BIT, 32)
    return `0x${bytes.toString('hex')}${(s & Y_PARITY_BIT) === 0 ? '1b' : '1c'}`
  }
  if (!keySignature.test(signature)) return undefined
  switch (signature.slice(130).toLowerCase()) {
    case '00':
      return `${signature.slice(0, 130)}1b`
    case '01':
      return `${signature.slice(0, 130)}1c`
    case '1b':
    case '1c':
      return signature
    default:
      return undefined
  }
}

/** Undefined unless the signature has the shape that `canonicalSignature` returns. */
export function splitSignature(signature: string): { r: string; s: string; v: 27 | 28 } | undefined {
  if (!keySignature.test(signature)) return undefined
  const v = Number.parseInt(signature.slice(130), 16)
  if (v !== 27 && v !== 28) return undefined
  return { r: `0x${signature.slice(2, 66)}`, s: `0x${signature.slice(66, 130)}`, v }
}

/** The signer's address in lower case. `signature`: 65 bytes, v 27 or 28, low s. */
export function recoverSigner(digest: Uint8Array, signature: string): string | undefined {
  const parts = splitSignature(signature)
  if (parts === undefined) return undefined
  const rs = Buffer.from(signature.slice(2, 130), 'hex')
  const publicKey = recoverPublicKey(digest, rs, parts.v - 27)
  return publicKey && `0x${keccak256(publicKey.subarray(1)).slice(26)}`
}

type SignedPayment = Readonly<ReadSignature> & { readonly payer: string }

/** A payment is checked up to five times on its way into a transaction. */
const checked = new WeakMap<SignedPayment, { digest: Uint8Array; isSigned: boolean }>()

/**
 * Accepts every form that `canonicalSignature` does. If false, the payer may be a contract that accepts the signature. Keys
 * do not wrap: by ERC-6492's order a wrapped signature is checked by the payer's contract, never recovered.
 */
export function isSignedByKey(payment: SignedPayment, digest: Uint8Array): boolean {
  if (payment.deployment !== undefined) return false
  const known = checked.get(payment)
  if (known && Buffer.compare(known.digest, digest) === 0) return known.isSigned
  const canonical = canonicalSignature(payment.signature)
  const isSigned = canonical !== undefined && recoverSigner(digest, canonical) === payment.payer.toLowerCase()
  checked.set(payment, { digest, isSigned })
  return isSigned
}

/**
 * The signature to send to a contract that checks it: canonical if it is a key's, otherwise unchanged, because a contract
 * wallet defines its own format.
 */
export const signatureToSend = (payment: SignedPayment, digest: Uint8Array): string =>
  (isSignedByKey(payment, digest) ? canonicalSignature(payment.signature) : undefined) ?? payment.signature
