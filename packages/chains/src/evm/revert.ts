import { AbiCoder } from 'ethers'

/** Selector of Solidity's `Error(string)`. */
const ERROR = '0x08c379a0'
const PREFIX =
  /^(?:err: *)?(?:VM Exception while processing transaction: *)?(?:execution )?(?:reverted|revert)(?: with reason string)?[:,]? */i

/** A reason longer than this is not decoded. */
const FIRST_HEX = /0x[0-9a-f]{0,20000}/i

const OUT_OF_GAS =
  /out ?of ?gas|oog\b|gas required exceeds|intrinsic[ _]?gas|gas (?:limit|floor) (?:is )?(?:below|exceeds)|gas cost exceeds the gas limit|floor data gas/i

/**
 * By the messages of geth, Nethermind, Besu, Erigon, Reth and anvil. Includes a gas limit below the intrinsic gas. The call,
 * not the node, is at fault.
 */
export const isOutOfGas = (words: string): boolean => OUT_OF_GAS.test(words)

/** The reason in `Error(string)`; undefined if `data` is something else. */
export function decodeReason(data: string): string | undefined {
  if (!data.startsWith(ERROR)) return undefined
  try {
    return AbiCoder.defaultAbiCoder().decode(['string'], `0x${data.slice(ERROR.length)}`)[0] as string
  } catch {
    return undefined
  }
}

/** Why a call failed: the contract's reason, else the selector of its error, else the node's message. */
export function revertText({ message, data }: { message: string; data?: unknown }): string {
  const [hex = ''] = typeof data === 'string' ? (FIRST_HEX.exec(data) ?? []) : []
  const reason = decodeReason(hex.toLowerCase()) ?? message.replace(PREFIX, '')
  const [, named] = /^custom error (0x[0-9a-f]{8})/i.exec(reason) ?? []
  if (named === undefined && reason !== '') return reason
  const selector = named ?? hex.slice(0, 10)
  return selector.length === 10 ? `reverted with error ${selector.toLowerCase()}` : message
}
