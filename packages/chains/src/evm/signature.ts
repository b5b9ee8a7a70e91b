import { keccak256 } from '../keccak'
import { recoverPublicKey } from '../curve'

const keySignature = /^0x[0-9a-f]{130}$/i

/** r, s and v of a 65-byte signature, v as 27 or 28; undefined for any other shape (EIP-2098 among them). */
export function splitSignature(signature: string): { r: string; s: string; v: 27 | 28 } | undefined {
  if (!keySignature.test(signature)) return undefined
  const v = Number.parseInt(signature.slice(130), 16)
  if (v !== 27 && v !== 28) return undefined
  return { r: `0x${signature.slice(2, 66)}`, s: `0x${signature.slice(66, 130)}`, v }
}

/** The address, in lower case, whose key made `signature` (65 bytes, v 27 or 28, low s) over `digest`. */
export function recoverSigner(digest: Uint8Array, signature: string): string | undefined {
  const parts = splitSignature(signature)
  if (parts === undefined) return undefined
  const rs = Buffer.from(signature.slice(2, 130), 'hex')
  const publicKey = recoverPublicKey(digest, rs, parts.v - 27)
  return publicKey && `0x${keccak256(publicKey.subarray(1)).slice(26)}`
}

/** Whether the payer's own key signed; if not, the payer may still be a contract that vouches for the signature. */
export const isSignedByKey = (
  { payer, signature }: { payer: string; signature: string },
  digest: Uint8Array,
): boolean => recoverSigner(digest, signature) === payer.toLowerCase()

const EIP6492_SUFFIX = '6492'.repeat(16)

/** Whether `signature` is that of a wallet not deployed yet (EIP-6492): it would have to be deployed to be checked. */
export const isCounterfactual = (signature: string): boolean => signature.endsWith(EIP6492_SUFFIX)
