import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { closeLater } from '@tollgate/testing'
import { callRpc } from './chain'

type Message = { jsonrpc: '2.0'; id: number; method: string; params: unknown[] }
type Failure = { code: number; message: string }

/** The node at `url`, but for `method`, which fails as `failure` says of each question (JSON); answers its URL. */
export const startFailingNode = (
  url: string,
  method: string,
  failure: (question: string) => Failure | undefined,
): Promise<string> =>
  startNode((messages) =>
    messages.map((message) => {
      const error = message.method === method ? failure(JSON.stringify(message)) : undefined
      return error ? failed(message, error) : forward(url, message)
    }),
  )

/** The node at `url`, but for the results of the methods that `lies` has another for; answers its URL. */
export const startLyingNode = (
  url: string,
  lies: Readonly<Record<string, (result: unknown) => unknown>>,
): Promise<string> =>
  startNode((messages) =>
    messages.map(async (message) => {
      const reply = (await forward(url, message)) as { result?: unknown }
      const lie = lies[message.method]
      return lie ? { ...reply, result: lie(reply.result) } : reply
    }),
  )

/** How a node answers one method; `told` is what a sound node says to it. */
export type Manner = (params: Record<string, string>, told: () => Promise<Reply>) => Promise<Reply>
type Reply = { result?: unknown; error?: unknown }

/** The node at `url`, but for the methods that answer in another manner, or by an error not at all; answers its URL. */
export const startOddNode = (
  url: string,
  manners: Readonly<Record<string, Manner>>,
  options: { takesBatches?: boolean } = {},
): Promise<string> =>
  startNode(
    (messages) =>
      messages.map(async (message) => {
        const told = () => forward(url, message) as Promise<Reply>
        const reply = (await manners[message.method]?.(message.params as never, told)) ?? (await told())
        return { ...reply, jsonrpc: '2.0', id: message.id }
      }),
    options,
  )

/**
 * One URL with two nodes behind it: the one at `url`, and one that lacks its newest blocks, as many as `lacking` says when
 * it is told what a question asks, or all of a batch: one node answers that; answers its URL.
 */
export const startLaggingNode = (
  url: string,
  lacking: (methods: readonly string[]) => number,
): Promise<string> =>
  startNode(async (messages) => {
    const lack = BigInt(lacking(messages.map(({ method }) => method)))
    const height = BigInt((await callRpc(url, 'eth_blockNumber')) as string) - lack
    return messages.map((message) => (lack > 0n ? answerAt(height, url, message) : forward(url, message)))
  })

/** As a node answers whose newest block is that of this height, as far as tests ask. */
function answerAt(height: bigint, url: string, message: Message): unknown {
  const { id, method, params } = message
  const newest = `0x${height.toString(16)}`
  if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: newest }
  if (method === 'eth_getBlockByNumber' && params[0] === 'latest')
    return forward(url, { ...message, params: [newest, ...params.slice(1)] })
  if (method === 'eth_getLogs')
    return forward(url, { ...message, params: [{ ...(params[0] as object), toBlock: newest }] })
  if (method !== 'eth_call') return forward(url, message)
  const [call, block] = params
  if (block !== 'latest' && BigInt(block as string) > height)
    return failed(message, { code: -32000, message: 'header not found' })
  return forward(url, { ...message, params: [call, block === 'latest' ? newest : block] })
}

const failed = ({ id }: Message, error: Failure) => ({ jsonrpc: '2.0', id, error })

/** What the node at `url` answers to it. */
export async function forward(url: string, message: Message): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
  return answer.json()
}

/** A node that answers all of a request as it is told; answers its URL. */
export async function startNode(
  answer: (messages: Message[]) => unknown[] | Promise<unknown[]>,
  { takesBatches = true }: { takesBatches?: boolean } = {},
): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as Message | Message[]
      if (Array.isArray(asked) && !takesBatches) {
        const error = { code: -32600, message: 'batches are not supported' }
        response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
        return
      }
      const answers = await Promise.all(await answer(Array.isArray(asked) ? asked : [asked]))
      response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]))
    })().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeLater(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve(undefined))
        server.closeAllConnections()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
