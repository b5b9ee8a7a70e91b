import { connect, type Socket } from 'node:net'

/** Sends a request and reads nothing of its answer. */
export function openUnreadPost(url: string, json: unknown, headers: Record<string, string>): Socket {
  const { host, hostname, port, pathname } = new URL(url)
  const body = JSON.stringify(json)
  const head = {
    host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.pause()
  socket.on('error', () => undefined)
  socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  return socket
}
