import http from 'node:http'
import { type AddressInfo, type Socket } from 'node:net'
import { type Express } from 'express'
import { ConfigurationError } from '../config'
import { answerMalformed, refuseTarget } from './malformed'

const MAX_HEADER_BYTES = 16 * 1024
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
/** Longer than the 60 s for which load balancers keep a connection, so that they never send into one we close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/** How long an answer that is held in memory may make no way at all. */
const UNREAD_TIMEOUT_MS = 10_000

/** Connections on which nothing was asked yet, which Node does not count among the idle ones. */
const unusedConnections = new WeakMap<http.Server, Set<Socket>>()

/**
 * A server for the app, with bounded headers and timeouts, and everything that is sent to it answered in the error shape.
 * A caller that does not read its answer loses its connection, so that unread answers do not fill the memory.
 *
 * Its request and response objects are born with the app's prototypes: Express otherwise re-parents both on every
 * request, which on Node 20 costs most of the throughput.
 */
export function createServer(app: Express): http.Server {
  class AppRequest extends http.IncomingMessage {}
  class AppResponse extends http.ServerResponse {}
  const prototypes = app as unknown as { request: object; response: object }
  Object.setPrototypeOf(AppRequest.prototype, prototypes.request)
  Object.setPrototypeOf(AppResponse.prototype, prototypes.response)
  prototypes.request = AppRequest.prototype
  prototypes.response = AppResponse.prototype

  const server = http.createServer({
    IncomingMessage: AppRequest,
    ServerResponse: AppResponse,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: 5_000,
    // The app says so itself, in the error shape.
    requireHostHeader: false,
  })
  const unused = new Set<Socket>()
  unusedConnections.set(server, unused)
  server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  answerMalformed(server, { maxHeaderBytes: MAX_HEADER_BYTES })
  const serve = app as unknown as (req: object, res: object, otherwise: () => void) => void
  server.on('request', (req, res) => {
    unused.delete(req.socket)
    // Once all was said; Node sets another timeout when all was taken, and ends the connection when this one is over.
    res.once('prefinish', () => {
      if (req.socket.writableLength > 0) req.socket.setTimeout(UNREAD_TIMEOUT_MS)
    })
    serve(req, res, () => refuseTarget(res))
  })
  server.on('checkExpectation', (req, res) => void server.emit('request', req, res))
  return server
}

/** Starts to listen. Port 0 takes any that is free. A port that cannot be had is a ConfigurationError that names it. */
export function listen(
  server: http.Server,
  { port, host }: { port: number; host?: string | undefined },
): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(listenProblem(error, port, host))
    server.once('error', onError)
    server.listen({ port, host }, () => {
      server.off('error', onError)
      resolve({ port: (server.address() as AddressInfo).port })
    })
  })
}

/**
 * Stops accepting, lets the requests in flight finish for at most `graceSeconds`, then cuts off what is left. Resolves to
 * whether all had finished by themselves.
 */
export async function closeServer(
  server: http.Server,
  { graceSeconds }: { graceSeconds: number },
): Promise<boolean> {
  let isClean = true
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'))
  // A kept-alive connection would otherwise stay open after the answer it was busy with.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const cutOff = setTimeout(() => {
    isClean = false
    server.closeAllConnections()
  }, graceSeconds * 1000)
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  for (const socket of unusedConnections.get(server) ?? []) socket.destroy()
  await closed
  clearInterval(idle)
  clearTimeout(cutOff)
  return isClean
}

function listenProblem(error: NodeJS.ErrnoException, port: number, host?: string) {
  const where = `port ${port}${host === undefined ? '' : ` of ${host}`}`
  if (error.code === 'EADDRINUSE')
    return new ConfigurationError([`${where} is in use: stop what listens there, or set another port`])
  if (error.code === 'EACCES')
    return new ConfigurationError([`${where} needs rights this process lacks: set a port above 1023`])
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new ConfigurationError([`${where} is not an address of this machine: set another host`])
  return error
}
