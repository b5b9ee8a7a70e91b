import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { statusOf, type ErrorCode } from '../errors'
import { idFor } from './follow'

/** How long a client that was refused may keep its side of the connection open. */
const LINGER_MS = 2_000

const JSON_TYPE = 'application/json; charset=utf-8'

type Refusal = { code: ErrorCode; message: string; id?: string }
type Exchange = { req: http.IncomingMessage; res: http.ServerResponse }

/**
 * Answers in the error shape what never reaches the app: malformed HTTP, requests that do not arrive in time, CONNECT. The
 * connection is closed after that. Such an answer is never taken for that of a request before it, which is waited for.
 */
export function answerMalformed(server: http.Server, { maxHeaderBytes }: { maxHeaderBytes: number }): void {
  const exchanges = new WeakMap<Duplex, Exchange[]>()
  const refused = new WeakSet<Duplex>()

  async function refuse(socket: Duplex, refusal: Refusal) {
    if (refused.has(socket)) return
    refused.add(socket)
    socket.on('error', () => undefined)
    const all = exchanges.get(socket) ?? []
    const own = all.find(({ req }) => !req.complete)
    await Promise.all(all.filter((exchange) => exchange !== own).map(answered))
    if (!socket.writable || (own?.res.headersSent === true && !own.res.writableFinished)) socket.destroy()
    else close(socket, own?.res.headersSent === true ? '' : rawAnswer({ ...idIn(own?.res), ...refusal }))
  }

  server.on('request', (req, res) => {
    const unanswered = exchanges.get(req.socket)?.filter(({ res: { writableFinished } }) => !writableFinished)
    exchanges.set(req.socket, [...(unanswered ?? []), { req, res }])
  })
  server.on('connect', (req, socket: Duplex) => {
    const message = 'This is no proxy: CONNECT is not served'
    void refuse(socket, { code: 'METHOD_NOT_ALLOWED', message, id: idFor(req) })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    void refuse(socket, problemOf(error.code, maxHeaderBytes))
  })
}

/** For a target of which Express makes no path at all, and so calls nothing of the app: `GET http://[::1/ HTTP/1.1`. */
export function refuseTarget(res: http.ServerResponse): void {
  const body = JSON.stringify({ code: 'INVALID_REQUEST', message: 'The target of the request is no address' })
  res.statusCode = statusOf.INVALID_REQUEST
  res.setHeader('X-Request-Id', idFor(res.req))
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

function problemOf(code: string | undefined, maxHeaderBytes: number): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return {
      code: 'HEADERS_TOO_LARGE',
      message: `The headers are too large; at most ${maxHeaderBytes} bytes are taken`,
    }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { code: 'REQUEST_TIMEOUT', message: 'The request took too long to arrive; send it again' }
  return { code: 'INVALID_REQUEST', message: 'This is not a well-formed HTTP/1.1 request' }
}

/** The id of the request that broke off in its body: the app's log line has it too. */
function idIn(res: http.ServerResponse | undefined) {
  const id = res?.getHeader('X-Request-Id')
  return typeof id === 'string' ? { id } : {}
}

function rawAnswer({ code, message, id = randomUUID() }: Refusal) {
  const status = statusOf[code]
  const body = JSON.stringify({ code, message })
  return [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    ...(code === 'METHOD_NOT_ALLOWED' ? ['Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'] : []),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
