import { randomUUID } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import { type Request, type RequestHandler } from 'express'
import { type Logger } from '../logger'

/**
 * What is known of a request once it is over. `route` is its pattern, so that there are few of them; `locals` is what its
 * handlers left in `res.locals`.
 */
export type Answer = {
  method: string
  route: string
  status: number
  seconds: number
  locals: Readonly<Record<string, unknown>>
}

const idOf = Symbol('request id')
const arrivedAs = Symbol('arrival')
type Followed = Request & { [idOf]?: string; [arrivedAs]?: Arrival }

/** The id of a request: in its answer's `X-Request-Id`, in its log lines, and what a client tells us when it asks. */
export const requestId = (req: Request): string => (req as Followed)[idOf] ?? ''

/** The id that a request brings, if it is a sane one, else a new one. */
export function idFor({ headers }: IncomingMessage): string {
  const brought = headers['x-request-id']
  return typeof brought === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(brought) ? brought : randomUUID()
}

/**
 * When a request came in, before anything was done for it, and as which one of all in this process. `monotonicMs` is
 * comparable with `performance.now()` of this process alone.
 */
export type Arrival = { at: Date; monotonicMs: number; order: number }

/** Recorded, never sent, for a request whose caller disconnected before its answer began (as nginx does). */
const CALLER_LEFT = 499

let latest = 0
/** The order of the newest request of this process: what arrives from now on has a higher one. */
export const latestArrival = (): number => latest

export function arrivalOf(req: Request): Arrival {
  const arrival = (req as Followed)[arrivedAs]
  if (!arrival) throw new Error('The request was not followed')
  return arrival
}

/** Gives a request its id, its own if it brings a sane one, and tells of it in one log line when it is over. */
export function follow(options: {
  logger: Logger
  now: () => Date
  onAnswer?: (answer: Answer) => void
}): RequestHandler {
  const { logger, now, onAnswer } = options
  return (req, res, next) => {
    const startedAt = now().getTime()
    const id = idFor(req)
    const arrival = { at: new Date(startedAt), monotonicMs: performance.now(), order: ++latest }
    Object.assign(req, { [idOf]: id, [arrivedAs]: arrival } satisfies Partial<Followed>)
    res.setHeader('X-Request-Id', id)
    // As Express reads it to find the route: a backslash is a slash at times. Later, routers have cut off where they are mounted.
    const { path } = req

    // Those who wait for the end of a streamed answer are more than the ten after which Node warns.
    res.setMaxListeners(32)
    res.once('close', () => {
      const { method } = req
      const status = res.headersSent ? res.statusCode : CALLER_LEFT
      const durationMs = Math.max(0, now().getTime() - startedAt)
      const facts: Record<string, unknown> = { method, path: pathOf(req), status, durationMs, requestId: id }
      if (res.locals.code !== undefined) facts.code = res.locals.code
      if (!res.writableFinished || (req.destroyed && !req.complete)) facts.aborted = true
      logger.info('request', facts)
      onAnswer?.({
        method,
        route: routeOf(req, path),
        status,
        seconds: durationMs / 1000,
        locals: res.locals,
      })
    })
    next()
  }
}

const pathOf = (req: Request) => req.originalUrl.split('?', 1)[0]?.slice(0, 256)

function routeOf(req: Request, path: string) {
  const route = req.route as { path: unknown } | undefined
  return typeof route?.path === 'string' ? mountOf(path, route.path) + route.path : 'none'
}

/**
 * Where the router of a route is mounted: the path without as many parts as the route has, in one letter case of the many
 * that Express takes. `baseUrl` will not do: Express forgets it when a handler throws.
 */
function mountOf(path: string, route: string) {
  const parts = path.replace(/\/$/, '').split('/')
  return parts
    .slice(0, Math.max(0, parts.length - route.split('/').length + 1))
    .join('/')
    .toLowerCase()
}
