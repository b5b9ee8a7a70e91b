import http from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { statusOf, type ErrorCode } from '../errors'

/** How long a client that was refused may keep its side of the connection open. */
const LINGER_MS = 2_000

const JSON_TYPE = 'application/json; charset=utf-8'

type Exchange = { req: http.IncomingMessage; res: http.ServerResponse }

/**
 * Answers in the error shape what never reaches the app: malformed HTTP, requests that do not arrive in time, CONNECT. The
 * connection is closed after that. Such an answer is never taken for that of a request before it, which is waited for.
 */
export function answerMalformed(server: http.Server, { maxHeaderBytes }: { maxHeaderBytes: number }): void {
  const exchanges = new WeakMap<Duplex, Exchange[]>()
  const refused = new WeakSet<Duplex>()

  async function refuse(socket: Duplex, code: ErrorCode, message: string) {
    if (refused.has(socket)) return
    refused.add(socket)
    socket.on('error', () => undefined)
    const all = exchanges.get(socket) ?? []
    const own = all.find(({ req }) => !req.complete)
    await Promise.all(all.filter((exchange) => exchange !== own).map(answered))
    if (!socket.writable || (own?.res.headersSent === true && !own.res.writableFinished)) socket.destroy()
    else close(socket, own?.res.headersSent === true ? '' : rawAnswer(code, message))
  }

  server.on('request', (req, res) => {
    const unanswered = exchanges.get(req.socket)?.filter(({ res: { writableFinished } }) => !writableFinished)
    exchanges.set(req.socket, [...(unanswered ?? []), { req, res }])
  })
  server.on('connect', (_req, socket: Duplex) => {
    void refuse(socket, 'METHOD_NOT_ALLOWED', 'This is no proxy: CONNECT is not served')
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    void refuse(socket, ...problemOf(error.code, maxHeaderBytes))
  })
}

/** For a target of which Express makes no path at all, and so calls nothing of the app: `GET http://[::1/ HTTP/1.1`. */
export function refuseTarget(res: http.ServerResponse): void {
  const body = JSON.stringify({ code: 'INVALID_REQUEST', message: 'The target of the request is no address' })
  res.statusCode = statusOf.INVALID_REQUEST
  res.setHeader('Content-Type', JSON_TYPE).setHeader('Connection', 'close').end(body)
}

const answered = async ({ res }: Exchange) =>
  res.writableFinished || new Promise<void>((resolve) => res.once('close', () => resolve()))

/** Says the last word, and lets the other side say what it still has to, for a while: to cut it off could cost it ours. */
function close(socket: Duplex, text: string) {
  socket.end(text)
  socket.resume()
  const late = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(late))
}

function problemOf(code: string | undefined, maxHeaderBytes: number): [ErrorCode, string] {
  if (code === 'HPE_HEADER_OVERFLOW')
    return ['HEADERS_TOO_LARGE', `The headers are too large; at most ${maxHeaderBytes} bytes are taken`]
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return ['REQUEST_TIMEOUT', 'The request took too long to arrive; send it again']
  return ['INVALID_REQUEST', 'This is not a well-formed HTTP/1.1 request']
}

function rawAnswer(code: ErrorCode, message: string) {
  const status = statusOf[code]
  const body = JSON.stringify({ code, message })
  return [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(code === 'METHOD_NOT_ALLOWED' ? ['Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'] : []),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
