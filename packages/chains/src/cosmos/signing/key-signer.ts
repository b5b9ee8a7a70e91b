import { createHash } from 'node:crypto'
import { createKeySigner } from '../../signers/key-signer'
import type { SignatureScheme, Signer } from '../../signers/signer'
import { addressOf } from '../address'

const schemeOf = (prefix: string): SignatureScheme => ({
  addressOf: (bytes) => addressOf({ type: 'secp256k1', bytes }, prefix),
  digestOf: (message) => createHash('sha256').update(message).digest(),
})

/** The signer of a private key of 64 hex digits, with or without 0x. */
export function keySigner(privateKey: string, prefix: string): Signer {
  try {
    return createKeySigner(`0x${privateKey.replace(/^0x/, '')}`, schemeOf(prefix))
  } catch {
    // The library's error message may contain the key.
    throw new Error('The signer key is not a private key: give 64 hex digits')
  }
}
