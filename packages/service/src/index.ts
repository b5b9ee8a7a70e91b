export { type CommandIo, parseOptions, runCommand, runCommandLine, UsageError } from './command-line'
export {
  ConfigurationError,
  DEVELOPMENT_SECRET_PREFIX,
  env,
  isDevelopment,
  isProduction,
  readEnvironment,
} from './config'
export { type Console, createConsole } from './console/create-console'
export { mountConsole } from './console/mount-console'
export { type EphemeralStore, type EphemeralStoreOptions, openEphemeralStore } from './ephemeral'
export { toCsv } from './csv'
export { assertPageSize, sendCsv, wantsCsv, type CsvPage } from './csv-response'
export { endOfTurn } from './end-of-turn'
export { ApiError, type ApiErrorOptions, type ErrorCode, parse, statusOf } from './errors'
export { type AppOptions, createBaseApp } from './http/app'
export { createBulkhead } from './http/bulkhead'
export {
  type BodyOptions,
  bodyOf,
  createBodyReader,
  forgetBody,
  POINT_BYTES,
  rawBody,
  rawMember,
  type ReadBody,
  releaseBody,
} from './http/body'
export {
  type Arrival,
  arrivalOf,
  type CompletedRequest,
  latestArrival,
  requestId,
  spanOf,
} from './http/request-context'
export { createHealth, type Health } from './http/health'
export { closeServer, createServer, listen } from './http/server'
export { registerAllowedMethods } from './http/not-found'
export { createKeyLimiter, type KeyLimiter } from './key-limit'
export { createLogger, flushed, type Logger } from './logger'
export { createMetrics, type Metrics } from './metrics/metrics'
export { exportPool } from './metrics/postgres-pool'
export { type CounterSeries, type HistogramSeries } from './metrics/series'
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
  type HeaderDescription,
  type Operation,
  operationsOf,
  responseAt,
  serviceOperations,
} from './reference'
export { startInterval } from './interval'
export {
  AddressNotAllowed,
  guardedRequest,
  type GuardedRequestOptions,
  type GuardedResponse,
  isAllowedAddress,
  RequestTimeout,
} from './outbound/guarded-request'
export { isPlainHttpToPublicHost, PLAIN_HTTP_REFUSED } from './outbound/plain-http'
export { isPublicAddress } from './outbound/public-address'
export { type Resolve } from './outbound/resolve'
export { type RetentionRun, startRetention } from './retention'
export { type Closing, run } from './run'
export { startServers } from './start-servers'
export {
  activeTraceId,
  callWithActiveSpan,
  NO_TRACING,
  openTracing,
  type Span,
  type SpanOptions,
  traced,
  traceIdOf,
  type Tracing,
  collectorVariables,
  tracingVariables,
} from './tracing'
export { isWeakSecret } from './weak-secret'
