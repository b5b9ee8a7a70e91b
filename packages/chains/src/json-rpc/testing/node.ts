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

/** An HTTP server with the given handler; it records its requests. */
export async function startNode(
  respond: (messages: Message[], response: ServerResponse, body: string) => void | Promise<void>,
): Promise<Node> {
  const requests: Message[][] = []
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const message = JSON.parse(body) as Message | Message[]
      const messages = Array.isArray(message) ? message : [message]
      requests.push(messages)
      return respond(messages, response, body)
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

/** A node that responds to each request of a batch separately. */
export const startJsonRpcNode = (respond: (message: Message) => Omit<Reply, 'id'>): Promise<Node> =>
  startNode((messages, response, body) => {
    const replies = messages.map((message) => ({ jsonrpc: '2.0', id: message.id, ...respond(message) }))
    response.end(JSON.stringify(body.startsWith('[') ? replies : replies[0]))
  })

export type AlterReply = (message: Message, reply: Reply) => Omit<Reply, 'id'>
type AlterReplyAsync = (
  ...parameters: Parameters<AlterReply>
) => ReturnType<AlterReply> | Promise<ReturnType<AlterReply>>

/** A proxy of the node at `url` that alters its replies: a faulty node, or one that lags. */
export const startAlteringProxy = (url: string, alter: AlterReplyAsync): Promise<Node> =>
  startNode(async (messages, response, body) => {
    const real = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const json = (await real.json()) as Reply | Reply[]
    const replies = await Promise.all(
      (Array.isArray(json) ? json : [json]).map(async (reply, i) => ({
        jsonrpc: '2.0',
        id: reply.id,
        ...(await alter(messages[i]!, reply)),
      })),
    )
    response.end(JSON.stringify(body.startsWith('[') ? replies : replies[0]))
  })
