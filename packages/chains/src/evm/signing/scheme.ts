import { computeAddress } from 'ethers'
import { keccak256 } from '../../keccak'
import type { SignatureScheme } from '../../signers/signer'

export const evmScheme: SignatureScheme = {
  addressOf: (publicKey) => computeAddress(`0x${Buffer.from(publicKey).toString('hex')}`),
  digestOf: (message) => Buffer.from(keccak256(message).slice(2), 'hex'),
}
