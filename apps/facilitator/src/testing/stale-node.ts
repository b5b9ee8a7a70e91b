import { callRpc } from './chain'
import { forward, startNode } from './failing-node'

type Message = Parameters<typeof forward>[1]

/**
 * A load balancer in front of the Cosmos node at `url` and of one that is stale since `remember`. From `fallBack` to `catchUp`
 * the stale node serves the requests that the predicate selects, counted from 0. It forwards transactions, and answers a single
 * simulation as the real node answered the last one.
 */
export async function startStaleNode(url: string) {
  let remembered: unknown
  let simulated: unknown
  let isStale: (request: number) => boolean = () => false
  let requests = 0

  const isSimulation = ({ params }: Message) =>
    (params as unknown as Record<string, string>)['path']?.endsWith('/Simulate') === true

  function answerOld(message: Message): Promise<unknown> {
    const { jsonrpc, id, method } = message
    const params = message.params as unknown as Record<string, string>
    if (method === 'status') return Promise.resolve({ jsonrpc, id, result: remembered })
    if (method !== 'abci_query' || params['height'] !== '0' || isSimulation(message))
      return forward(url, message)
    const { sync_info } = remembered as { sync_info: { latest_block_height: string } }
    const then = { ...params, height: sync_info.latest_block_height }
    return forward(url, { ...message, params: then as never })
  }

  async function answerAlone(message: Message, stale: boolean): Promise<unknown> {
    if (!isSimulation(message)) return stale ? answerOld(message) : forward(url, message)
    if (stale) return { ...(simulated as object), id: message.id }
    return (simulated = await forward(url, message))
  }

  return {
    url: await startNode((messages) => {
      const stale = isStale(requests++)
      const [first, ...more] = messages
      if (first && more.length === 0) return Promise.all([answerAlone(first, stale)])
      return Promise.all(messages.map((message) => (stale ? answerOld(message) : forward(url, message))))
    }),
    async remember() {
      remembered = await callRpc(url, 'status')
    },
    fallBack(selects: (request: number) => boolean = () => true) {
      requests = 0
      isStale = selects
    },
    catchUp() {
      isStale = () => false
    },
  }
}
