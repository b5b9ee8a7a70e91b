import { closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type ReceivedRequest = {
  method: string | undefined
  url: string | undefined
  headers: IncomingHttpHeaders
  body: Buffer
}
export type Answer = (res: ServerResponse, seen: ReceivedRequest, req: IncomingMessage) => unknown

export async function startUpstream(answer: Answer) {
  const requests: ReceivedRequest[] = []
  const server = http.createServer((req, res) => {
    void buffer(req).then((body) => {
      const seen = { method: req.method, url: req.url, headers: req.headers, body }
      requests.push(seen)
      return answer(res, seen, req)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

export async function getRefusingUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

export const answers = {
  result:
    (result: unknown = '0x1'): Answer =>
    (res) =>
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: 1, result })),
  status:
    (status: number, body = `status ${status}`, headers: Record<string, string | string[]> = {}): Answer =>
    (res) =>
      res.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(body),
  hang: (() => undefined) satisfies Answer,
  reset: ((res) => res.socket?.resetAndDestroy()) satisfies Answer,
  resetAfter:
    (sent: number, promised: number): Answer =>
    (res) => {
      res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': promised })
      res.write(Buffer.alloc(sent), () => res.socket?.destroy())
    },
  drip: ((res) => {
    res.writeHead(200, { 'content-type': 'text/plain' })
    const timer = setInterval(() => res.write('.'), 20)
    res.once('close', () => clearInterval(timer))
  }) satisfies Answer,
}
