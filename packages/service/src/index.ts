export { ConfigurationError, DEVELOPMENT_SECRET_PREFIX, env, readEnvironment } from './config'
export { type EphemeralStore, type EphemeralStoreOptions, openEphemeralStore } from './ephemeral'
export { ApiError, type ApiErrorOptions, type ErrorCode, parse, statusOf } from './errors'
export { type AppOptions, createApp } from './http/app'
export {
  type BodyOptions,
  bodyOf,
  createBodyReader,
  forgetBody,
  POINT_BYTES,
  rawMember,
  type ReadBody,
  releaseBody,
} from './http/body'
export { type Answer, type Arrival, arrivalOf, latestArrival, requestId } from './http/follow'
export { createHealth, type Health } from './http/health'
export { closeServer, createServer, listen } from './http/server'
export { noteOtherMethods } from './http/unserved'
export { createLogger, flushed, type Logger } from './logger'
export { createMetrics, type Metrics } from './metrics'
export {
  addressKey,
  type Budget,
  createBudget,
  createLimiter,
  createRateLimit,
  limitBy,
  type Limiter,
  type LimiterOptions,
} from './rate-limit'
export {
  createOpenApi,
  createReference,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  operationsOf,
  responseAt,
  serviceOperations,
} from './reference'
export { repeat } from './repeat'
export { type RetentionRun, startRetention } from './retention'
export { type Closing, run } from './run'
