import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import {
  createServer as createSocketServer,
  type AddressInfo,
  type Server as SocketServer,
  type Socket,
} from 'node:net'
import { buffer } from 'node:stream/consumers'

const closing: (() => Promise<unknown>)[] = []

export async function closeAll() {
  for (let close = closing.pop(); close !== undefined; close = closing.pop()) await close()
}

export const closeLater = (close: () => unknown) =>
  void closing.push(async () => {
    await close()
  })

type Asked = { method: string; path: string; headers: IncomingHttpHeaders; body: string }

/**
 * A real HTTP server on a free port that records its requests. `answer` gets the number of the request, from
 * 1.
 */
export async function startServer(answer: (res: ServerResponse, number: number) => void, port = 0) {
  const asked: Asked[] = []
  const server = createServer((req, res) => {
    void buffer(req).then((body) => {
      const { method = '', url: path = '', headers } = req
      asked.push({ method, path, headers, body: body.toString() })
      answer(res, asked.length)
    })
  })
  return { url: await listening(server, port), asked }
}

/**
 * A real TCP server on a free port. `onData` gets all bytes that a connection has received, and the
 * connection's number, from 1.
 */
export async function startSocketServer(onData: (socket: Socket, number: number, received: string) => void) {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createSocketServer((socket) => {
    const number = ++connections
    let received = ''
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => onData(socket, number, (received += chunk.toString())))
  })
  const url = await listening(server)
  closeLater(() => sockets.forEach((socket) => socket.destroy()))
  return { url, connections: () => connections }
}

async function listening(server: Server | SocketServer, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  closeLater(
    () =>
      new Promise((resolve) => {
        server.close(resolve)
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function closedPort(): Promise<number> {
  const server = createSocketServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export const json = (
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) => res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
