import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { statusOf, type ErrorCode } from '../errors'
import { idFor } from './request-context'

const DRAIN_TIMEOUT_MS = 2_000

const JSON_TYPE = 'application/json; charset=utf-8'

type Refusal = { code: ErrorCode; message: string; id?: string }
type Exchange = { req: http.IncomingMessage; res: http.ServerResponse }

const exchangesKey = Symbol('exchanges')
/** The requests of a connection whose responses may be unfinished: several if the client pipelines. */
type TrackedSocket = Duplex & { [exchangesKey]?: Exchange[] }

/**
 * Responds in the error shape to requests that never reach the app (malformed HTTP, request timeouts, CONNECT) and closes the
 * connection. It waits for earlier responses first, so that a client cannot mistake this response for one of them.
 */
export function answerMalformed(server: http.Server, { maxHeaderBytes }: { maxHeaderBytes: number }): void {
  const refused = new WeakSet<Duplex>()

  async function refuse(socket: TrackedSocket, refusal: Refusal) {
    if (refused.has(socket)) return
    refused.add(socket)
    socket.on('error', () => undefined)
    const pending = socket[exchangesKey] ?? []
    const incomplete = pending.find(({ req }) => !req.complete)?.res
    await Promise.all(pending.filter(({ res }) => res !== incomplete).map(finished))
    const hasResponse = incomplete?.headersSent === true
    if (!socket.writable || (hasResponse && !incomplete.writableFinished)) socket.destroy()
    else closeAfter(socket, hasResponse ? '' : rawResponse({ ...idOf(incomplete), ...refusal }))
  }

  server.on('request', (req, res) => {
    const socket: TrackedSocket = req.socket
    const exchanges = (socket[exchangesKey] ??= [])
    while (exchanges[0]?.res.writableFinished) exchanges.shift()
    exchanges.push({ req, res })
  })
  server.on('connect', (req, socket: Duplex) => {
    const message = 'This server is not a proxy: CONNECT is not supported'
    void refuse(socket, { code: 'METHOD_NOT_ALLOWED', message, id: idFor(req) })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    void refuse(socket, refusalFor(error.code, maxHeaderBytes))
  })
}

/** For a target that Express cannot parse, so that it calls no handler: `GET http://[::1/ HTTP/1.1`. */
export function refuseTarget(res: http.ServerResponse): void {
  const body = JSON.stringify({
    code: 'INVALID_REQUEST',
    message: 'The target of the request is not a valid address',
  })
  res.statusCode = statusOf.INVALID_REQUEST
  res.setHeader('X-Request-Id', idFor(res.req))
  res.setHeader('Content-Type', JSON_TYPE).setHeader('Connection', 'close').end(body)
}

const finished = async ({ res }: Exchange) =>
  res.writableFinished || new Promise<void>((resolve) => res.once('close', () => resolve()))

/** Half-closes and drains for DRAIN_TIMEOUT_MS, so that the client can read the response. */
function closeAfter(socket: Duplex, response: string) {
  socket.end(response)
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), DRAIN_TIMEOUT_MS)
  socket.once('close', () => clearTimeout(timer))
}

function refusalFor(code: string | undefined, maxHeaderBytes: number): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return {
      code: 'HEADERS_TOO_LARGE',
      message: `The headers are too large; at most ${maxHeaderBytes} bytes are accepted`,
    }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { code: 'REQUEST_TIMEOUT', message: 'The request took too long to arrive; send it again' }
  return { code: 'INVALID_REQUEST', message: 'This is not a well-formed HTTP/1.1 request' }
}

function idOf(res: http.ServerResponse | undefined) {
  const id = res?.getHeader('X-Request-Id')
  return typeof id === 'string' ? { id } : {}
}

function rawResponse({ code, message, id = randomUUID() }: Refusal) {
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
