import { addressWord, answeredWord, functionCall } from '../../abi'
import { Data } from '../../rpc-schemas'
import type { Rpc } from '../../rpc'

/** Permit2 has this address on every public chain. */
export const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
/** The spender that payers of x402 name: it passes what it may move on to the recipient that they signed. */
export const PROXY = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'

const permit2Of = functionCall('PERMIT2()')
const PERMIT2_WORD = BigInt(`0x${addressWord(PERMIT2)}`)

/** Whether the network has the proxy, and this one works with the Permit2 that payers sign for. */
export async function hasProxy(rpc: Rpc): Promise<boolean> {
  const answer = await rpc.run(Data, 'eth_call', [{ to: PROXY, data: permit2Of() }, 'latest'])
  return answeredWord(answer) === PERMIT2_WORD
}

/** Tells whether the network has both contracts; a yes holds, a no is asked again next time. */
export function createPermit2Detector(rpc: Rpc): () => Promise<boolean> {
  let isThere = false
  return async () => {
    if (isThere) return true
    const [proxy, code] = await Promise.all([
      hasProxy(rpc),
      rpc.call(Data, 'eth_getCode', [PERMIT2, 'latest']),
    ])
    isThere = proxy && code !== '0x'
    return isThere
  }
}
