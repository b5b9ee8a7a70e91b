import http from 'node:http'
import { Server as TcpServer, type AddressInfo } from 'node:net'
import { type Express } from 'express'
import { ConfigurationError } from '../config'
import { answerMalformed, refuseTarget } from './malformed'

const DEFAULT_MAX_HEADER_BYTES = 16 * 1024
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
/** Must exceed the 60 s for which load balancers keep a connection, so that they never send on one that we close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/** How long a buffered response may make no progress. */
export const UNREAD_TIMEOUT_MS = 10_000

/** How long a connection without a request stays open at a stop: its client may be sending one. */
const IDLE_GRACE_MS = 1_000
const CLOSE_INTERVAL_MS = 50

type Connections = {
  open: Set<Socket>
  /** Whether each response closes its connection. */
  areClosing: boolean
}

/** Requests may be sent on a connection without waiting for answers, which are in their order. */
const latestKey = Symbol('latest response')
const isClosingKey = Symbol('closes after the response that has begun')
type Socket = http.IncomingMessage['socket'] & { [latestKey]?: object; [isClosingKey]?: true }

const connectionsOf = new WeakMap<http.Server, Connections>()

/**
 * A server with header limits and timeouts that responds to malformed requests in the error shape. It closes the connection of
 * a client that does not read its response, so that unread responses do not fill the memory.
 *
 * Request and response objects are created with the app's prototypes: Express otherwise sets both prototypes on every request,
 * which costs most of the throughput on Node 20.
 */
export function createServer(
  app: Express,
  { maxHeaderBytes = DEFAULT_MAX_HEADER_BYTES }: { maxHeaderBytes?: number } = {},
): http.Server {
  class AppRequest extends http.IncomingMessage {}
  const connections: Connections = { open: new Set(), areClosing: false }
  class AppResponse extends http.ServerResponse {
    // Also called for headers that Express or Node write by themselves.
    override writeHead(...head: [statusCode: number]) {
      if (connections.areClosing) closeAfter(this)
      return super.writeHead(...head)
    }
  }
  const prototypes = app as unknown as { request: object; response: object }
  Object.setPrototypeOf(AppRequest.prototype, prototypes.request)
  Object.setPrototypeOf(AppResponse.prototype, prototypes.response)
  prototypes.request = AppRequest.prototype
  prototypes.response = AppResponse.prototype

  const server = http.createServer({
    IncomingMessage: AppRequest,
    ServerResponse: AppResponse,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: 5_000,
    // The app checks it, and responds in the error shape.
    requireHostHeader: false,
  })
  const { open } = connections
  connectionsOf.set(server, connections)
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  answerMalformed(server, { maxHeaderBytes })
  const serve = app as unknown as (req: object, res: object, onUnhandled: () => void) => void
  server.on('request', (req, res) => {
    const socket: Socket = req.socket
    // Its answer could not be sent: it is not executed, as Connection: close says.
    if (socket[isClosingKey]) return
    socket[latestKey] = res
    res.once('prefinish', limitUnread)
    serve(req, res, () => refuseTarget(res))
  })
  server.on('checkExpectation', (req, res) => void server.emit('request', req, res))
  return server
}

/** Unless a later request of the connection is being executed: its answer must not be lost. */
function closeAfter(res: http.ServerResponse) {
  const socket: Socket = res.req.socket
  if (res.headersSent || socket[latestKey] !== res) return
  socket[isClosingKey] = true
  res.setHeader('Connection', 'close')
}

/** For a response that is written but not yet sent. Node destroys the socket at this timeout, and replaces it once all is sent. */
function limitUnread(this: http.ServerResponse) {
  const { socket } = this.req
  if (socket.writableLength > 0) socket.setTimeout(UNREAD_TIMEOUT_MS)
}

/** `variable`: the name of the variable that sets the port. */
export type ListenAddress = { port: number; host?: string | undefined; variable?: string }

/** Listens on the port; 0 takes any free one. @throws ConfigurationError if the port is unavailable */
export function listen(server: http.Server, address: ListenAddress): Promise<{ port: number }> {
  const { port, host } = address
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(listenError(error, address))
    server.once('error', onError)
    server.listen({ port, host }, () => {
      server.off('error', onError)
      resolve({ port: (server.address() as AddressInfo).port })
    })
  })
}

/**
 * Stops accepting connections, waits up to `graceSeconds` for requests in flight, then closes all connections. Resolves to
 * false if it interrupted a request.
 *
 * Every response from now on closes its connection, unless the client has sent another request behind it. A connection without a request is closed after a second: a client, such as a
 * proxy that keeps connections, may have sent one that has not arrived, and would not know whether it was executed.
 */
export async function closeServer(
  server: http.Server,
  { graceSeconds }: { graceSeconds: number },
): Promise<boolean> {
  const connections = connectionsOf.get(server)
  if (connections) connections.areClosing = true
  let isClean = true
  // `server.close` would also close idle connections.
  const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve()))
  let closing: NodeJS.Timeout | undefined
  const idleTimer = setTimeout(() => {
    for (const socket of connections?.open ?? []) if (!socket[latestKey]) socket.destroy()
    const closeIdle = () => {
      // Node counts a connection as idle once its response has ended, also if most of it waits to be sent.
      const isSending = [...(connections?.open ?? [])].some(({ writableLength }) => writableLength > 0)
      if (!isSending) server.closeIdleConnections()
    }
    closeIdle()
    // A response whose head was written before may leave its connection open.
    closing = setInterval(closeIdle, CLOSE_INTERVAL_MS)
  }, IDLE_GRACE_MS)
  const graceTimer = setTimeout(() => {
    isClean = false
    server.closeAllConnections()
  }, graceSeconds * 1000)
  await closed
  // Ends its timers; it listens no longer.
  server.close()
  clearTimeout(idleTimer)
  clearInterval(closing)
  clearTimeout(graceTimer)
  return isClean
}

function listenError(error: NodeJS.ErrnoException, { port, host, variable }: ListenAddress) {
  const where = `port ${port}${host === undefined ? '' : ` of ${host}`}`
  const ofPort = variable === undefined ? where : `${variable}: ${where}`
  if (error.code === 'EADDRINUSE')
    return new ConfigurationError([`${ofPort} is in use: stop what listens there, or set another port`])
  if (error.code === 'EACCES')
    return new ConfigurationError([`${ofPort} needs rights this process lacks: set a port above 1023`])
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new ConfigurationError([`${where} is not an address of this machine: set another host`])
  return error
}
