import cors from 'cors'
import express, { type Express } from 'express'
import helmet from 'helmet'
import { type Logger } from '../logger'
import { refuseNonconforming } from './conformance'
import { respondWithError, type UnavailableReason } from './errors'
import { trackRequest, type CompletedRequest } from './request-context'
import { notFound, registerAllowedMethods } from './not-found'

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
  onCompleted?: (request: CompletedRequest) => void
}

/** An Express app with request ids, request log lines without headers, bodies or query, security headers and JSON errors. */
export function createBaseApp(options: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', options.trustProxy ?? false)
  // No response has a validator, so none may be 304: Express would send one for `If-None-Match: *`.
  Object.defineProperty(app.request, 'fresh', { value: false })

  app.use(trackRequest(options))
  app.use(securityHeaders(options.cors !== undefined))
  if (options.cors) app.use(crossOrigin(options.cors))
  app.use(refuseNonconforming)
  options.routes(app)
  registerAllowedMethods(app.router)
  app.use(notFound)
  app.use(respondWithError(options.logger, options.unavailableReason))
  return app
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
