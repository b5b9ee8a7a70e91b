import cors from 'cors'
import express, { type Express } from 'express'
import helmet from 'helmet'
import { type Logger } from '../logger'
import { refuseNonconforming } from './conformance'
import { answerErrors, type ReasonAway } from './errors'
import { follow, type Answer } from './follow'
import { noteOtherMethods, nothingHere } from './unserved'

export type AppOptions = {
  logger: Logger
  now: () => Date
  /** Mounts the surface. A route that takes a body reads it itself (createBodyReader), after whatever may refuse without it. */
  routes: (app: Express) => void
  /** Lets pages of these origins call; without it none can. */
  cors?: {
    origins: '*' | readonly string[]
    allowedHeaders?: readonly string[]
    exposedHeaders?: readonly string[]
  }
  /** How many proxies stand in front, or which: Express' `trust proxy`. By default none is believed. */
  trustProxy?: boolean | number | string[]
  /** Tells the errors of a part that is away from defects: they are answered 503 instead of 500. */
  reasonAway?: ReasonAway
  /** Called once for every request, when it is over. */
  onAnswer?: (answer: Answer) => void
}

/**
 * An Express app with our base behaviour in place: a request id, one log line for each request (no headers, bodies or
 * query), security headers, and every error answered as `{ code, message, details? }`.
 */
export function createApp(options: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', options.trustProxy ?? false)
  // No answer has a validator, so none is `Not Modified`: Express would say so to `If-None-Match: *`.
  Object.defineProperty(app.request, 'fresh', { value: false })

  app.use(follow(options))
  app.use(securityHeaders(options.cors !== undefined))
  if (options.cors) app.use(crossOrigin(options.cors))
  app.use(refuseNonconforming)
  options.routes(app)
  noteOtherMethods(app.router)
  app.use(nothingHere)
  app.use(answerErrors(options.logger, options.reasonAway))
  return app
}

/** Nothing here is a page: whatever a browser could be led to do with an answer is forbidden. */
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
