import { SigningKey } from 'ethers'
import type { SignatureScheme, Signer } from './signer'

/** Signs in this process. Throws if `privateKey` (0x and hex) is none; the error may contain it. */
export function createKeySigner(privateKey: string, { addressOf, digestOf }: SignatureScheme): Signer {
  const key = new SigningKey(privateKey)
  const publicKey = bytesOf(key.compressedPublicKey)
  return {
    address: addressOf(publicKey),
    publicKey,
    sign(message) {
      const { r, s } = key.sign(digestOf(message))
      return Promise.resolve(bytesOf(r + s.slice(2)))
    },
  }
}

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.slice(2), 'hex'))
