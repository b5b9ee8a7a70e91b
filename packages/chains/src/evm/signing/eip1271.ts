import { id } from 'ethers'
import { functionCall, trailingBytes } from '../abi'

const SIGNATURE = 'isValidSignature(bytes32,bytes)'
const isValidSignature = functionCall(SIGNATURE)
const MAGIC = id(SIGNATURE).slice(0, 10).padEnd(66, '0')

/** Call data of EIP-1271's isValidSignature. `signature` in hex. */
export const askContract = (digest: Uint8Array, signature: string): string =>
  isValidSignature(Buffer.from(digest).toString('hex'), ...trailingBytes(signature, 1))

/** Whether the contract accepts the signature. A revert, or any value but the magic value, is a no. */
export const vouches = (answer: { value: string } | { reverted: string }): boolean =>
  'value' in answer && answer.value === MAGIC
