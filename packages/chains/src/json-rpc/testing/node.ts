import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Message = { id: number; method: string; params: unknown[] }
type Reply = { id: number | null; result?: unknown; error?: { code: number; message: string; data?: string } }
type Node = { url: string; requests: Message[][]; close(): Promise<void> }

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** A node whose HTTP answers are the test's; it keeps what it was asked. */
export async function startNode(
  answer: (messages: Message[], response: ServerResponse, body: string) => void | Promise<void>,
): Promise<Node> {
  const requests: Message[][] = []
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const message = JSON.parse(body) as Message | Message[]
      const messages = Array.isArray(message) ? message : [message]
      requests.push(messages)
      return answer(messages, response, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A node that answers each question by itself. */
export const startAnsweringNode = (answer: (message: Message) => Omit<Reply, 'id'>): Promise<Node> =>
  startNode((messages, response, body) => {
    const replies = messages.map((message) => ({ jsonrpc: '2.0', id: message.id, ...answer(message) }))
    response.end(JSON.stringify(body.startsWith('[') ? replies : replies[0]))
  })

/** What a node answers instead of the truth. */
export type Lie = (message: Message, reply: Reply) => Omit<Reply, 'id'>
type SlowLie = (...told: Parameters<Lie>) => ReturnType<Lie> | Promise<ReturnType<Lie>>

/** The node at `url`, but for the replies that `change` alters: a node that lies, or lags. */
export const startLyingNode = (url: string, change: SlowLie): Promise<Node> =>
  startNode(async (messages, response, body) => {
    const real = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const json = (await real.json()) as Reply | Reply[]
    const replies = await Promise.all(
      (Array.isArray(json) ? json : [json]).map(async (reply, i) => ({
        jsonrpc: '2.0',
        id: reply.id,
        ...(await change(messages[i]!, reply)),
      })),
    )
    response.end(JSON.stringify(body.startsWith('[') ? replies : replies[0]))
  })
