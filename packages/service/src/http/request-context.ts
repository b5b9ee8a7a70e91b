import { randomUUID } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import { type Request, type Response } from 'express'
import { logRequest, type Logger } from '../logger'
import { callWithActiveSpan, type Span } from '../tracing/span'
import { type Tracing } from '../tracing/tracing'

export type CompletedRequest = {
  method: string
  route: string
  status: number
  seconds: number
  locals: Readonly<Record<string, unknown>>
}

const idKey = Symbol('request id')
const arrivalKey = Symbol('arrival')
const spanKey = Symbol('span')
type TrackedRequest = Request & { [idKey]?: string; [arrivalKey]?: Arrival; [spanKey]?: Span }

/** The id in the response's `X-Request-Id` and in the log lines of the request. */
export const requestId = (req: Request): string => (req as TrackedRequest)[idKey] ?? ''

/** The span of the request, if its trace is sampled. */
export const spanOf = (req: Request): Span | undefined => (req as TrackedRequest)[spanKey]

/** The request's own `X-Request-Id` if it is well-formed, else a new id. */
export function idFor({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(sent) ? sent : randomUUID()
}

/** When a request arrived, and its number in this process. `monotonicMs` compares with `performance.now()` of this process. */
export type Arrival = { at: Date; monotonicMs: number; order: number }

/** Logged, never sent, for a client that disconnected before the response began (as nginx does). */
const CLIENT_CLOSED_REQUEST = 499

let latest = 0
export const latestArrival = (): number => latest

export function arrivalOf(req: Request): Arrival {
  const arrival = (req as TrackedRequest)[arrivalKey]
  if (!arrival) throw new Error('The request is not tracked')
  return arrival
}

export function trackRequest(options: {
  logger: Logger
  now: () => Date
  onStarted?: () => void
  onCompleted?: (request: CompletedRequest) => void
  redactPath?: (path: string) => string
  tracing?: Tracing
}) {
  const { logger, now, onStarted, onCompleted, redactPath = (path) => path, tracing } = options
  return (req: Request, res: Response) => {
    onStarted?.()
    const startedAt = now().getTime()
    const id = idFor(req)
    const arrival = { at: new Date(startedAt), monotonicMs: performance.now(), order: ++latest }
    const tracked: TrackedRequest = req
    tracked[idKey] = id
    tracked[arrivalKey] = arrival
    const span = tracing?.accept(req.headers)
    if (span) tracked[spanKey] = span
    res.setHeader('X-Request-Id', id)
    // Express parses the path as for routing, where a backslash can be a slash. Mounted routers shorten it later.
    const { path } = req

    // A streamed response has more than ten listeners, the number above which Node warns.
    res.setMaxListeners(32)
    res.once('close', () => {
      const { method } = req
      const status = res.headersSent ? res.statusCode : CLIENT_CLOSED_REQUEST
      const durationMs = Math.max(0, now().getTime() - startedAt)
      logRequest(logger, {
        method,
        path: redactPath(pathOf(req)),
        status,
        durationMs,
        requestId: id,
        code: res.locals.code as unknown,
        aborted: !res.writableFinished || (req.destroyed && !req.complete) ? true : undefined,
        traceId: span?.traceId,
      })
      const completed: CompletedRequest = {
        method,
        route: routeOf(req, path),
        status,
        seconds: durationMs / 1000,
        locals: res.locals,
      }
      callWithActiveSpan(span, () => onCompleted?.(completed))
      if (span) endRequestSpan(span, completed, id)
    })
  }
}

/** The route and not the path, which can hold an access key. */
function endRequestSpan(span: Span, { method, route, status, locals }: CompletedRequest, id: string) {
  span.rename(`${method} ${route}`)
  span.set({
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'tollgate.request_id': id,
  })
  if (status >= 500) span.fail(locals.code ?? String(status))
  else if (typeof locals.code === 'string') span.set({ 'error.type': locals.code })
  span.end()
}

const pathOf = (req: Request) => (req.originalUrl.split('?', 1)[0] ?? '').slice(0, 256)

function routeOf(req: Request, path: string) {
  const route = req.route as { path: unknown } | undefined
  if (typeof route?.path !== 'string') return 'none'
  // What a wildcard matches has any number of segments, so the mount path cannot be told from it.
  return route.path.includes('*') ? route.path : mountOf(path, route.path) + route.path
}

/**
 * The mount path of the route's router: the path without its last segments, as many as the route has, in lower case. Express
 * resets `baseUrl` when a handler throws.
 */
function mountOf(path: string, route: string) {
  const segments = path.replace(/\/$/, '').split('/')
  return segments
    .slice(0, Math.max(0, segments.length - route.split('/').length + 1))
    .join('/')
    .toLowerCase()
}
