import { keccak256 } from 'ethers'
import type { SignInProof } from '../family'
import { recoverSigner } from './signature'

function personalDigest(message: string): Uint8Array {
  const text = Buffer.from(message, 'utf8')
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`, 'utf8')
  return Buffer.from(keccak256(Buffer.concat([prefix, text])).slice(2), 'hex')
}

/** Some wallets write the recovery id as 0 or 1 where the others write 27 or 28. */
const withUsualV = (signature: string): string =>
  signature.length === 132 ? signature.replace(/0([01])$/, (_, id) => (id === '0' ? '1b' : '1c')) : signature

/** Whether the key of `address` signed `message` with personal_sign (EIP-191). Smart wallets are not asked here. */
export const verifySignIn = ({ message, address, signature }: SignInProof): boolean =>
  recoverSigner(personalDigest(message), withUsualV(signature)) === address.toLowerCase()
