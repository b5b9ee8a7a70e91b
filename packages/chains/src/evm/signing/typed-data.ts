import { keccak256 } from '../../keccak'
import { bytesWord } from '../abi'

export const keccakOfHex = (hex: string): string => keccak256(Buffer.from(hex, 'hex'))

/** The EIP-712 digest of a struct (its hash in hex) in a domain (its separator in hex). */
export const typedDigest = (separator: string, struct: string): Uint8Array =>
  Buffer.from(keccakOfHex(`1901${bytesWord(separator)}${bytesWord(struct)}`).slice(2), 'hex')
