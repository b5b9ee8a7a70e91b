import { closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import tls from 'node:tls'
import { selfSigned } from './certificate'
import { nobody } from './upstream'

/** An upstream that fails; `asked` counts the whole requests that reached it. */
export type Faulty = { url: string; asked: () => number }

/**
 * A server on bare TCP, which need not keep to HTTP: it gets the connection each time that a whole request has arrived on
 * it, and what it was.
 */
export async function startRaw(
  answer: (socket: Socket, request: string) => unknown,
  { onConnection }: { onConnection?: (socket: Socket) => unknown } = {},
): Promise<Faulty> {
  let asked = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    onConnection?.(socket)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      if (!isWhole(received)) return
      const request = received
      received = ''
      asked++
      answer(socket, request)
    })
  })
  return { url: `http://${await listening(server)}`, asked: () => asked }
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

/** Upstreams that cannot be talked to at all. */
export const unreachable = {
  refusing: async (): Promise<Faulty> => ({ url: await nobody(), asked: never }),
  /** A name that is too long for the resolver to ask anybody. */
  nameless: (): Promise<Faulty> => Promise.resolve({ url: `http://${'x'.repeat(64)}.invalid`, asked: never }),
  /** Shows a certificate that nobody vouches for, and counts whoever speaks to it all the same. */
  async untrusted(): Promise<Faulty> {
    let asked = 0
    const server = tls.createServer(selfSigned('127.0.0.1'), (socket) =>
      socket.on('error', () => undefined).on('data', () => asked++),
    )
    server.on('tlsClientError', () => undefined)
    return { url: `https://${await listening(server)}`, asked: () => asked }
  },
  /** Speaks plainly where TLS is expected. */
  async plain(): Promise<Faulty> {
    const { url, asked } = await startRaw(() => undefined, {
      onConnection: (socket) => socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
    })
    return { url: url.replace('http:', 'https:'), asked }
  },
  /** Takes the connection and says nothing of TLS, ever. */
  async speechless(): Promise<Faulty> {
    const { url, asked } = await startRaw(() => undefined)
    return { url: url.replace('http:', 'https:'), asked }
  },
}

const head = (...lines: string[]) => [...lines, '', ''].join('\r\n')

/** What a server may do to a connection once a request has arrived on it. */
export const faults = {
  hang: () => undefined,
  close: (socket: Socket) => socket.end(),
  reset: (socket: Socket) => socket.resetAndDestroy(),
  /** Promises `promised` bytes, sends `sent` of them, and cuts the connection. */
  cutAfter: (sent: number, promised: number) => (socket: Socket) => {
    socket.write(head('HTTP/1.1 200 OK', 'content-type: text/plain', `content-length: ${promised}`))
    socket.write(Buffer.alloc(sent, 'x'), () => socket.destroy())
  },
  /** Ends within a chunk. */
  cutChunk: (socket: Socket) =>
    socket.end(head('HTTP/1.1 200 OK', 'transfer-encoding: chunked') + 'ff\r\nhalf'),
  /** A byte now and then, and no end. */
  drip: (socket: Socket) => {
    socket.write(head('HTTP/1.1 200 OK', 'content-type: text/plain', 'transfer-encoding: chunked'))
    const timer = setInterval(() => socket.write('1\r\n.\r\n'), 20)
    socket.once('close', () => clearInterval(timer))
  },
  /** The same within the head of the answer. */
  dripHead: (socket: Socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('x: y\r\n'), 20)
    socket.once('close', () => clearInterval(timer))
  },
  /** Announces an answer for ever. */
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
  /** An error of JSON-RPC under that status. */
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
