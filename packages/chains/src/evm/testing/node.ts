import { toBeHex, toQuantity } from 'ethers'
import { type AlterReply, startAlteringProxy, startNode } from '../../json-rpc/testing/node'

/** Of a node at block `height` that calls a nonce `used` as of block `since`, and finds nothing that used it. */
export const findingNothing =
  ({ since, used }: { since: bigint; used: string }, height: bigint): AlterReply =>
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
): ReturnType<typeof startAlteringProxy> =>
  startAlteringProxy(url, ({ method, params }, reply) => {
    if (method === 'eth_getBlockByNumber')
      return { result: { ...(reply.result as object), timestamp: time(since) } }
    const [call, block] = params as [{ data?: string } | undefined, string]
    return block === 'latest' && early(call?.data ?? '')
      ? { error: { code: 3, message: 'execution reverted: not yet valid' } }
      : reply
  })

/** A node at block `height` and no further, whatever the one at `url` has; it takes no transaction of a payer that has nothing there. */
export const startNodeAt = (url: string, height: bigint): ReturnType<typeof startNode> =>
  startNode(async (messages, response, body) => {
    const at = toQuantity(height)
    const answers = await Promise.all(
      messages.map(async ({ id, method, params }) => {
        const known = params.map((param) => (param === 'latest' || param === 'pending' ? at : param))
        if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: at }
        if (method === 'eth_sendRawTransaction')
          return {
            jsonrpc: '2.0',
            id,
            error: { code: -32000, message: 'insufficient funds for gas * price + value' },
          }
        const headers = { 'content-type': 'application/json' }
        const question = JSON.stringify({ jsonrpc: '2.0', id, method, params: known })
        return (await fetch(url, { method: 'POST', headers, body: question })).json()
      }),
    )
    response.end(JSON.stringify(body.startsWith('[') ? answers : answers[0]))
  })
