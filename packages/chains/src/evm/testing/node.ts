import { toBeHex, toQuantity } from 'ethers'
import { type Lie, startLyingNode } from '../../json-rpc/testing/node'

/** Of a node at block `height` that calls a nonce `used` as of block `since`, and finds nothing that used it. */
export const findingNothing =
  ({ since, used }: { since: bigint; used: string }, height: bigint): Lie =>
  ({ method, params }, reply) => {
    if (method === 'eth_blockNumber') return { result: toQuantity(height) }
    if (method === 'eth_call') return { result: BigInt(params[1] as string) < since ? toBeHex(0, 32) : used }
    return method === 'eth_getLogs' ? { result: [] } : reply
  }

const time = (seconds: bigint): string => `0x${seconds.toString(16)}`

/** A chain that has stood still since `since` (Unix seconds): what runs on its last block sees that time. */
export const startRestingNode = (
  url: string,
  since: bigint,
  early: (data: string) => boolean,
): ReturnType<typeof startLyingNode> =>
  startLyingNode(url, ({ method, params }, reply) => {
    if (method === 'eth_getBlockByNumber')
      return { result: { ...(reply.result as object), timestamp: time(since) } }
    const [call, block] = params as [{ data?: string } | undefined, string]
    return block === 'latest' && early(call?.data ?? '')
      ? { error: { code: 3, message: 'execution reverted: not yet valid' } }
      : reply
  })
