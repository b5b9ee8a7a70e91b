import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { closeLater } from '@tollgate/testing'
import { callRpc } from './chain'

type Message = { jsonrpc: '2.0'; id: number; method: string; params: unknown[] }
type Failure = { code: number; message: string }

/** A proxy of the node at `url`. `failure` gets each request of `method` as JSON. */
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

export type MethodHandler = (params: Record<string, string>, forward: () => Promise<Reply>) => Promise<Reply>
type Reply = { result?: unknown; error?: unknown }

/** A proxy of the node at `url` that handles some methods itself, and drops the connection if a handler rejects. */
export const startOddNode = (
  url: string,
  handlers: Readonly<Record<string, MethodHandler>>,
  options: { takesBatches?: boolean } = {},
): Promise<string> =>
  startNode(
    (messages) =>
      messages.map(async (message) => {
        const forwardThis = () => forward(url, message) as Promise<Reply>
        const reply =
          (await handlers[message.method]?.(message.params as never, forwardThis)) ?? (await forwardThis())
        return { ...reply, jsonrpc: '2.0', id: message.id }
      }),
    options,
  )

/**
 * A load balancer in front of the node at `url` and of a stale one. `lacking` gets the methods of a request and returns how many
 * blocks the node that serves it lacks.
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

export async function forward(url: string, message: Message): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
  return answer.json()
}

export async function startNode(
  answer: (messages: Message[]) => unknown[] | Promise<unknown[]>,
  { takesBatches = true }: { takesBatches?: boolean } = {},
): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const received = JSON.parse(Buffer.concat(chunks).toString()) as Message | Message[]
      if (Array.isArray(received) && !takesBatches) {
        const error = { code: -32600, message: 'batches are not supported' }
        response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
        return
      }
      const answers = await Promise.all(await answer(Array.isArray(received) ? received : [received]))
      response.end(JSON.stringify(Array.isArray(received) ? answers : answers[0]))
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
