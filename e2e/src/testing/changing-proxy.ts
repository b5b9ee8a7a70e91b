import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo } from 'node:net'

type Answer = { status: number; headers: Headers; body: string }

/** The gateway, with answers changed, or kept back where `change` returns undefined. */
export async function startProxy(
  gateway: string,
  change: (request: IncomingMessage, answer: Answer) => string | undefined,
) {
  const server = createServer((request, response) => {
    void forward(gateway, request).then((answer) => {
      const body = change(request, answer)
      if (body === undefined) return
      const names = ['content-type', 'payment-required', 'retry-after']
      const headers = names.map((name): [string, string] => [name, answer.headers.get(name) ?? ''])
      response
        .writeHead(answer.status, Object.fromEntries(headers.filter(([, value]) => value !== '')))
        .end(body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function forward(gateway: string, request: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const names = ['authorization', 'content-type', 'x-payment', 'payment-signature']
  const given = names.map((name): [string, unknown] => [name, request.headers[name]])
  const body = Buffer.concat(chunks)
  const { method = 'GET', url = '/' } = request
  const answer = await fetch(`${gateway}${url}`, {
    method,
    headers: Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Record<string, string>,
    ...(body.length > 0 ? { body } : {}),
  })
  return { status: answer.status, headers: answer.headers, body: await answer.text() }
}
