import { env, readEnvironment, tracingVariables } from '@tollgate/service'
import { z } from 'zod'

const atLeastOne = env.count.refine((value) => value >= 1, 'expected a whole number, at least 1')

const inHeader = (value: string) => /^[\x21-\x7e]*$/.test(value)
const asMade =
  'expected visible ASCII characters without spaces, as POST /clients of the facilitator gave them'

/** `*` allows every domain, under the rule of auth/any-domain.ts. */
const signInDomains = env
  .list(env.text)
  .refine(
    (domains) => domains.length === 1 || !domains.includes('*'),
    'expected names and domains separated by commas, or * alone for every domain',
  )

export const Environment = z.object({
  NODE_ENV: env.text.optional(),
  PORT: env.port.default(8080),
  HOST: env.text.default('127.0.0.1'),
  METRICS_HOST: env.text.default('127.0.0.1'),
  METRICS_PORT: env.port.default(9090),
  PUBLIC_URL: env.url,
  DATABASE_URL: env.postgresUrl,
  DATABASE_POOL_SIZE: atLeastOne.default(10),
  REDIS_URL: env.redisUrl.optional(),
  JWT_SECRET: env.secret(32),
  JWT_SECRET_PREVIOUS: env.secret(32).optional(),
  OFFER_SIGNING_KEY: env.secret(32).optional(),
  OFFER_SIGNING_KEY_PREVIOUS: env.secret(32).optional(),
  SIGN_IN_DOMAINS: signInDomains,
  FACILITATOR_URL: env.url,
  FACILITATOR_CLIENT_ID: env.text.refine(inHeader, asMade),
  FACILITATOR_CLIENT_TOKEN: env.secret(32).refine(inHeader, asMade),
  UPSTREAM_TIMEOUT_SECONDS: env.seconds.default(30),
  FREE_TIMEOUTS_PER_MINUTE: atLeastOne.default(10),
  FREE_UNKNOWN_METHODS_PER_MINUTE: atLeastOne.default(30),
  RATE_LIMIT_AUTH_PER_MINUTE: atLeastOne.default(60),
  RATE_LIMIT_RPC_PER_MINUTE: atLeastOne.default(6_000),
  RATE_LIMIT_READS_PER_MINUTE: atLeastOne.default(600),
  RATE_LIMIT_PAYMENTS_PER_MINUTE: atLeastOne.default(30),
  FACILITATOR_REQUESTS_PER_MINUTE: atLeastOne.default(3_000),
  RETENTION_USAGE_DAYS: atLeastOne.default(400),
  RETENTION_USAGE_TOTALS_DAYS: atLeastOne.default(762),
  RETENTION_PAYMENT_REQUEST_DAYS: atLeastOne.default(7),
  RETENTION_FAILED_PAYMENT_DAYS: atLeastOne.default(90),
  RETENTION_SESSION_DAYS: atLeastOne.default(7),
  RETENTION_WEBHOOK_DAYS: atLeastOne.default(30),
  RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: atLeastOne.default(600),
  TRUSTED_PROXIES: env.count.default(0),
  LOG_LEVEL: env.logLevel.default('info'),
  ...tracingVariables,
  /** Passes `traceparent` on to the providers' upstreams. */
  TRACE_UPSTREAMS: env.flag.default(false),
  /** The file of a script that the console loads first, such as a development wallet. Production refuses it. */
  CONSOLE_DEVELOPMENT_SCRIPT: env.text.optional(),
  CONSOLE_EXPLORER_LINKS: env.flag.default(true),
})
const SHARED_REDIS = 'expected the address of a Redis that all replicas share, for nonces and limits'
const SECRETS = [
  'JWT_SECRET',
  'JWT_SECRET_PREVIOUS',
  'OFFER_SIGNING_KEY',
  'OFFER_SIGNING_KEY_PREVIOUS',
  'FACILITATOR_CLIENT_TOKEN',
] as const

export type Environment = z.infer<typeof Environment>

export const readConfiguration = (variables: NodeJS.ProcessEnv): Environment =>
  readEnvironment(Environment, variables, {
    developmentValues: { CONSOLE_DEVELOPMENT_SCRIPT: () => true },
    production: { secrets: SECRETS, required: { REDIS_URL: SHARED_REDIS }, urls: ['FACILITATOR_URL'] },
  })
