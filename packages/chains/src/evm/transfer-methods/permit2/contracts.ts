import { addressWord, answeredWord, functionCall } from '../../abi'
import { Data, quantity } from '../../rpc-schemas'
import { READ_GAS } from '../../tokens/token'
import type { Rpc } from '../../rpc'

/** Permit2 has this address on every public chain. */
export const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
/** x402's spender: it transfers to the recipient that the payer signed, and nowhere else. */
export const PROXY = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'

const permit2Of = functionCall('PERMIT2()')
const PERMIT2_WORD = BigInt(`0x${addressWord(PERMIT2)}`)

/** Whether the network has the proxy, and the proxy uses the canonical Permit2. */
export async function hasProxy(rpc: Rpc): Promise<boolean> {
  const answer = await rpc.run(Data, 'eth_call', [
    { to: PROXY, data: permit2Of(), gas: quantity(READ_GAS) },
    'latest',
  ])
  return answeredWord(answer) === PERMIT2_WORD
}

/** Whether the network has both contracts. Caches only a positive result. */
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
