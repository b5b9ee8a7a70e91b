import cors from 'cors'
import express, { type Express, type RequestHandler } from 'express'
import helmet from 'helmet'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { type Logger } from '../logger'
import { refusalOf } from './conformance'
import { respondWithError, type UnavailableReason } from './errors'
import { trackRequest, type CompletedRequest } from './request-context'
import { notFound, registerAllowedMethods } from './not-found'
import { type Tracing } from '../tracing/tracing'

export type AppOptions = {
  logger: Logger
  now: () => Date
  /** Mounts the routes. A route reads its body itself (createBodyReader), after the checks that do not need the body. */
  routes: (app: Express) => void
  cors?: {
    origins: '*' | readonly string[]
    allowedHeaders?: readonly string[]
    exposedHeaders?: readonly string[]
  }
  trustProxy?: boolean | number | string[]
  /** Recognizes the errors of an unavailable dependency: the response is 503 instead of 500. */
  unavailableReason?: UnavailableReason
  /** Each request that starts also completes. */
  onStarted?: () => void
  onCompleted?: (request: CompletedRequest) => void
  /** Takes secrets out of the path of a request before it is logged. */
  redactPath?: (path: string) => string
  tracing?: Tracing
}

/** An Express app with request ids, request log lines without headers, bodies or query, security headers and JSON errors. */
export function createBaseApp(options: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', options.trustProxy ?? false)
  // No response has a validator, so none may be 304: Express would send one for `If-None-Match: *`.
  Object.defineProperty(app.request, 'fresh', { value: false })

  app.use(beginRequest(options))
  options.routes(app)
  registerAllowedMethods(app.router)
  app.use(notFound)
  app.use(respondWithError(options.logger, options.unavailableReason))
  return app
}

/** One handler, because each costs every request a microsecond. */
function beginRequest(options: AppOptions): RequestHandler {
  const track = trackRequest(options)
  const handleCors = options.cors && crossOrigin(options.cors)
  const isOpen = options.cors?.origins === '*'
  const setHeaders = constantHeaders([
    securityHeaders(options.cors !== undefined),
    ...(handleCors && isOpen ? [handleCors] : []),
  ])
  return (req, res, next) => {
    track(req, res)
    setHeaders(res)
    if (!handleCors || (isOpen && req.method !== 'OPTIONS')) next(refusalOf(req, res))
    else handleCors(req, res, () => next(refusalOf(req, res)))
  }
}

/** The app serves no pages, so the headers forbid a browser to execute, frame or embed a response. */
const securityHeaders = (isCrossOrigin: boolean) =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    xFrameOptions: { action: 'deny' },
    crossOriginResourcePolicy: { policy: isCrossOrigin ? 'cross-origin' : 'same-origin' },
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xPoweredBy: false,
    xXssProtection: false,
  })

function crossOrigin({ origins, allowedHeaders = [], exposedHeaders = [] }: NonNullable<AppOptions['cors']>) {
  return cors({
    origin: origins === '*' ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: ['authorization', 'content-type', 'x-request-id', ...allowedHeaders],
    exposedHeaders: [
      'X-Request-Id',
      'Allow',
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
      'WWW-Authenticate',
      ...exposedHeaders,
    ],
    maxAge: 600,
  })
}

type HeaderHandler = (req: IncomingMessage, res: ServerResponse, next: () => void) => void

/** For handlers that set the same headers on every response: they run once, here. */
function constantHeaders(handlers: readonly HeaderHandler[]) {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  for (const handler of handlers) handler(request, response, () => undefined)
  const headers = response.getHeaderNames().map((name) => ({ name, value: response.getHeader(name) ?? '' }))
  return (res: ServerResponse) => {
    for (const { name, value } of headers) res.setHeader(name, value)
  }
}
