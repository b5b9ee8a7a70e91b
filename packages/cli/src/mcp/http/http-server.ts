import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type PaymentEntry } from '../payment-entry'
import { type CreateSession, type Session } from '../server'
import { findRefusal, isLoopback, type Listen } from './access'
import { createSessionTable, DEFAULT_BOUNDS, type Bounds } from './sessions'

const PATH = '/mcp'
const MAX_BODY_BYTES = 1024 * 1024
const MAX_CONNECTIONS = 1_000
const SWEEP_INTERVAL_MS = 60_000

type Open = Session & { transport: StreamableHTTPServerTransport }

/** Serves MCP over streamable HTTP, at `/mcp`. */
export async function startHttpServer(parts: {
  listen: Listen
  token: string | undefined
  createSession: CreateSession
  bounds?: Bounds
  now?: () => number
}) {
  const { listen, token, createSession, bounds = DEFAULT_BOUNDS, now = Date.now } = parts
  const sessions = createSessionTable<Open>({
    bounds,
    now,
    close: ({ server }) => void server.close().catch(() => undefined),
  })
  let opening = 0

  const listener = createServer((req, res) => {
    handle(req, res).then(
      (refusal) => refusal && answer(res, refusal),
      () => (res.headersSent ? res.destroy() : answer(res, { status: 500, message: 'The request failed' })),
    )
  })
  listener.maxConnections = MAX_CONNECTIONS

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<HttpRefusal | undefined> {
    const { host, origin, authorization } = req.headers
    const access = { isLoopback: isLoopback(listen), port: portOf(), token }
    const refusal = findRefusal({ host, origin, authorization }, access)
    if (refusal) return refusal
    if ((req.url ?? '').split('?')[0] !== PATH) return { status: 404, message: `The endpoint is ${PATH}` }
    const id = req.headers['mcp-session-id']
    if (id === undefined) return open(req, res)
    const session = typeof id === 'string' ? sessions.find(id) : undefined
    if (!session || typeof id !== 'string')
      return { status: 404, message: 'The session has ended; initialize again' }
    // A stream for notifications stays open for as long as its client, and keeps no session.
    if (req.method !== 'GET') res.once('close', sessions.use(id))
    await session.transport.handleRequest(req, res)
    return undefined
  }

  async function open(req: IncomingMessage, res: ServerResponse): Promise<HttpRefusal | undefined> {
    if (req.method !== 'POST') return { status: 400, message: 'The Mcp-Session-Id header is missing' }
    if (!sessions.makeRoom(opening)) return { status: 503, message: 'All sessions are in use' }
    opening += 1
    const session = createSession()
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: MAX_BODY_BYTES,
      onsessioninitialized: (id) => sessions.add(id, { ...session, transport }),
      onsessionclosed: (id) => sessions.remove(id),
    })
    try {
      await session.server.connect(transport)
      await transport.handleRequest(req, res)
    } finally {
      opening -= 1
      if (transport.sessionId === undefined) await session.server.close()
    }
    return undefined
  }

  const portOf = () => (listener.address() as AddressInfo | null)?.port ?? listen.port

  listener.listen(listen.port, listen.host)
  await once(listener, 'listening')
  const sweeping = setInterval(() => sessions.sweep(), SWEEP_INTERVAL_MS)
  sweeping.unref()

  return {
    url: `http://${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${portOf()}${PATH}`,
    notify(entry: PaymentEntry) {
      for (const session of sessions.values()) session.notify(entry)
    },
    async close() {
      clearInterval(sweeping)
      await Promise.all(sessions.values().map(({ server }) => server.close().catch(() => undefined)))
      const closed = once(listener, 'close')
      listener.close()
      listener.closeAllConnections()
      await closed
    },
  }
}

type HttpRefusal = { status: number; message: string }

function answer(res: ServerResponse, { status, message }: HttpRefusal): void {
  res.writeHead(status, {
    'content-type': 'application/json',
    connection: 'close',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 503 ? { 'retry-after': '5' } : {}),
  })
  res.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
}
