import { closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import tls from 'node:tls'
import { selfSigned } from './certificate'
import { getRefusingUrl } from './upstream'

/** `requestCount` counts the complete requests that reached it. */
export type FaultyUpstream = { url: string; requestCount: () => number }

/** A TCP server that can break HTTP. Calls `answer` for each complete request. */
export async function startRaw(
  answer: (socket: Socket, request: string) => unknown,
  { onConnection }: { onConnection?: (socket: Socket) => unknown } = {},
): Promise<FaultyUpstream> {
  let requestCount = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    onConnection?.(socket)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      if (!isWhole(received)) return
      const request = received
      received = ''
      requestCount++
      answer(socket, request)
    })
  })
  return { url: `http://${await listening(server)}`, requestCount: () => requestCount }
}

function isWhole(request: string) {
  const head = request.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(request)?.[1] ?? 0)
  return request.length >= head + 4 + length
}

async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const never = () => 0

export const unreachable = {
  refusing: async (): Promise<FaultyUpstream> => ({ url: await getRefusingUrl(), requestCount: never }),
  nameless: (): Promise<FaultyUpstream> =>
    Promise.resolve({ url: `http://${'x'.repeat(64)}.invalid`, requestCount: never }),
  async untrusted(): Promise<FaultyUpstream> {
    let requestCount = 0
    const server = tls.createServer(selfSigned('127.0.0.1'), (socket) =>
      socket.on('error', () => undefined).on('data', () => requestCount++),
    )
    server.on('tlsClientError', () => undefined)
    return { url: `https://${await listening(server)}`, requestCount: () => requestCount }
  },
  async plain(): Promise<FaultyUpstream> {
    const { url, requestCount } = await startRaw(() => undefined, {
      onConnection: (socket) => socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
    })
    return { url: url.replace('http:', 'https:'), requestCount }
  },
  async silentTls(): Promise<FaultyUpstream> {
    const { url, requestCount } = await startRaw(() => undefined)
    return { url: url.replace('http:', 'https:'), requestCount }
  },
}

const head = (...lines: string[]) => [...lines, '', ''].join('\r\n')

export const faults = {
  hang: () => undefined,
  close: (socket: Socket) => socket.end(),
  reset: (socket: Socket) => socket.resetAndDestroy(),
  cutAfter: (sent: number, promised: number) => (socket: Socket) => {
    socket.write(head('HTTP/1.1 200 OK', 'content-type: text/plain', `content-length: ${promised}`))
    socket.write(Buffer.alloc(sent, 'x'), () => socket.destroy())
  },
  cutChunk: (socket: Socket) =>
    socket.end(head('HTTP/1.1 200 OK', 'transfer-encoding: chunked') + 'ff\r\nhalf'),
  drip: (socket: Socket) => {
    socket.write(head('HTTP/1.1 200 OK', 'content-type: text/plain', 'transfer-encoding: chunked'))
    const timer = setInterval(() => socket.write('1\r\n.\r\n'), 20)
    socket.once('close', () => clearInterval(timer))
  },
  dripHead: (socket: Socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('x: y\r\n'), 20)
    socket.once('close', () => clearInterval(timer))
  },
  hints: (socket: Socket) => {
    const timer = setInterval(() => socket.write(head('HTTP/1.1 103 Early Hints', 'link: </x>')), 20)
    socket.once('close', () => clearInterval(timer))
  },
  manyHeaders: (socket: Socket) =>
    socket.write('HTTP/1.1 200 OK\r\n' + 'x-bomb: boom\r\n'.repeat(200_000) + 'content-length: 0\r\n\r\n'),
  longHeader: (socket: Socket) =>
    socket.write(head('HTTP/1.1 200 OK', `x-bomb: ${'o'.repeat(4_000_000)}`, 'content-length: 0')),
  garbage: (socket: Socket) =>
    socket.end(Buffer.from(Array.from({ length: 4_096 }, (_, at) => (at * 7) % 256))),
  html: (socket: Socket) => socket.end('<html>502 Bad Gateway</html>'),
  upgrade: (socket: Socket) =>
    socket.write(head('HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket')),
  twoLengths: (socket: Socket) =>
    socket.write(head('HTTP/1.1 200 OK', 'content-length: 2', 'content-length: 4') + 'okok'),
  smuggle: (socket: Socket) =>
    socket.write(
      head('HTTP/1.1 200 OK', 'transfer-encoding: chunked', 'content-length: 2') + '0\r\n\r\nHTTP/1.1',
    ),
  oddHeader: (socket: Socket) => socket.write(head('HTTP/1.1 200 OK', 'etag: "\u007f"', 'content-length: 0')),
  explains: (status: string) => (socket: Socket) => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: -1,
      error: { code: -32603, message: 'Internal error' },
    })
    const headers = ['content-type: application/json', `content-length: ${body.length}`]
    return socket.write(head(`HTTP/1.1 ${status}`, ...headers) + body)
  },
  says:
    (status: string, ...lines: string[]) =>
    (socket: Socket) =>
      socket.write(
        head(`HTTP/1.1 ${status}`, 'content-type: text/plain', 'content-length: 4', ...lines) + 'said',
      ),
}
