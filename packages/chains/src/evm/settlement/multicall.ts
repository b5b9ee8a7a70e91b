import { addressWord, bytesArgument, functionCall, uintWord } from '../abi'
import { Data } from '../rpc-schemas'
import type { Rpc } from '../rpc'

/** Multicall3 has this address on every public chain. */
export const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

const aggregate3Call = functionCall('aggregate3((address,bool,bytes)[])')

/** Words before a tuple's `bytes`: target, allowFailure and the offset of the bytes. */
const HEAD_WORDS = 3

/**
 * With `allowFailure` each call succeeds or fails on its own; without it one failure reverts all. `mayFail`: of one call.
 */
export function aggregate3(
  calls: readonly { to: string; data: string; mayFail?: true }[],
  allowFailure: boolean,
): string {
  const tuples = calls.map(({ to, data, mayFail = allowFailure }) => {
    const head = [addressWord(to), uintWord(mayFail ? 1 : 0), uintWord(HEAD_WORDS * 32)]
    return head.join('') + bytesArgument(data)
  })
  let start = calls.length * 32
  const starts = tuples.map((tuple) => {
    const own = start
    start += tuple.length / 2
    return uintWord(own)
  })
  return aggregate3Call(uintWord(32), uintWord(calls.length), ...starts, ...tuples)
}

/** Whether the network has Multicall3. Caches only a positive result. */
export function createMulticallDetector(rpc: Rpc): () => Promise<boolean> {
  let isThere = false
  return async () => {
    isThere ||= await rpc.call(Data, 'eth_getCode', [MULTICALL3, 'latest']).then(
      (code) => code !== '0x',
      () => false,
    )
    return isThere
  }
}
