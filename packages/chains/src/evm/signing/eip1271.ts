import { id } from 'ethers'
import { functionCall, trailingBytes } from '../abi'

const SIGNATURE = 'isValidSignature(bytes32,bytes)'
const isValidSignature = functionCall(SIGNATURE)
const MAGIC = id(SIGNATURE).slice(0, 10).padEnd(66, '0')

/** Asks a wallet that is a contract whether it vouches for `signature` (hex) over `digest` (EIP-1271). */
export const askContract = (digest: Uint8Array, signature: string): string =>
  isValidSignature(Buffer.from(digest).toString('hex'), ...trailingBytes(signature, 1))

/** Whether the contract's answer is the one that says yes. One that fails, or answers anything else, says no. */
export const vouches = (answer: { value: string } | { reverted: string }): boolean =>
  'value' in answer && answer.value === MAGIC
