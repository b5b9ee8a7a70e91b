import { collectorVariables, env, readEnvironment, tracingVariables } from '@tollgate/service'
import { z } from 'zod'
import { MAX_UPSTREAM_TIMEOUT_SECONDS } from './stop-times'

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
  NODE_ENV: env.mode
    .optional()
    .describe(
      '`production` refuses what is safe only on the machine of a developer, such as weak secrets, and sends webhooks to public https addresses only: [production mode](../production-mode.md).',
    ),
  PORT: env.port.default(8080).describe('Where the service listens. 0 chooses a free port.'),
  HOST: env.text.default('127.0.0.1').describe('`0.0.0.0` in a container; the images set it.'),
  METRICS_HOST: env.text.default('127.0.0.1').describe('As HOST, for the port of the metrics.'),
  METRICS_PORT: env.port.default(9090).describe('`GET /metrics` for Prometheus. Not public.'),
  PUBLIC_URL: env.url.describe('The URL that wallets and clients use. x402 clients get PUBLIC_URL/rpc.'),
  DATABASE_URL: env.postgresUrl.describe(
    "The gateway's own database in Postgres 15 or newer, with its migrations applied: directly, or through a pooler such as PgBouncer in session mode. In transaction mode the start is refused. `?sslmode=require` encrypts, `verify-full` also checks the certificate.",
  ),
  DATABASE_POOL_SIZE: atLeastOne.default(10).describe('Connections to Postgres that requests share.'),
  REDIS_URL: env.redisUrl
    .optional()
    .describe(
      'Nonces and rate limits, shared by all replicas. Required in production; without it they are kept in the process, which must be the only replica.',
    ),
  JWT_SECRET: env.secret(32).describe('Secret. Signs session tokens: `openssl rand -hex 32`.'),
  JWT_SECRET_PREVIOUS: env
    .secret(32)
    .optional()
    .describe('Secret. Tokens of this one are accepted too: [rotate](rotate.md#two-secrets).'),
  OFFER_SIGNING_KEY: env
    .secret(32)
    .optional()
    .describe(
      'Secret. Signs the offers of a 402 and the receipts of paid calls (the x402 extension offer-receipt). Without it none is signed.',
    ),
  OFFER_SIGNING_KEY_PREVIOUS: env
    .secret(32)
    .optional()
    .describe('Secret. The public key of this one is published too: [rotate](rotate.md#two-secrets).'),
  SIGN_IN_DOMAINS: signInDomains.describe(
    'Names and domains that sign-in messages may be addressed to. `*` alone lets each app use its own domain ([ADR 38](../adr/0038-sign-in-texts-of-any-domain.md)).',
  ),
  FACILITATOR_URL: env.url.describe("The facilitator's API, such as `http://facilitator:8081/api/v1`."),
  FACILITATOR_CLIENT_ID: env.text
    .refine(inHeader, asMade)
    .describe(
      "The gateway's client key at the facilitator. Its scope has `settle`, `verify`, `supported` and `settlements`, or is empty, which allows all.",
    ),
  FACILITATOR_CLIENT_TOKEN: env
    .secret(32)
    .refine(inHeader, asMade)
    .describe('Secret. The token of that key.'),
  UPSTREAM_TIMEOUT_SECONDS: env
    .secondsUpTo(MAX_UPSTREAM_TIMEOUT_SECONDS)
    .default(30)
    .describe(
      'How long an upstream may take to answer a call. A stop waits for calls twice as long, and ten seconds.',
    ),
  FREE_TIMEOUTS_PER_MINUTE: atLeastOne
    .default(10)
    .describe('Credits of calls that time out at upstreams, by wallet: further ones are charged.'),
  FREE_REFUSALS_PER_MINUTE: atLeastOne
    .default(100)
    .describe(
      'Credits of calls, and of entries of batches, that providers refuse for the size of the query or for the method, by wallet: further ones are charged.',
    ),
  FREE_UNKNOWN_METHODS_PER_MINUTE: atLeastOne
    .default(30)
    .describe('By wallet: further calls that a node does not know are charged.'),
  FREE_CREDITS_PER_WALLET: env.count
    .default(0)
    .describe(
      'Free credits for a wallet that signs in and has never had credits: [free first calls](free-first-calls.md). 0 gives none.',
    ),
  FREE_CREDITS_PER_ADDRESS: env.count
    .default(0)
    .describe(
      'Free credits in a UTC day for calls to plain URLs without credentials, by address. New wallets of the address take theirs from it, too. 0 gives addresses none, and wallets theirs without this limit.',
    ),
  FREE_CREDITS_PER_DAY: atLeastOne
    .default(1_000)
    .describe('Free credits that are given to all in a UTC day, at most, over all replicas.'),
  RATE_LIMIT_AUTH_PER_MINUTE: atLeastOne.default(60).describe('Sign-in requests, by address.'),
  RATE_LIMIT_RPC_PER_MINUTE: atLeastOne
    .default(6_000)
    .describe('Calls, by wallet. A body counts once for each started 16 KiB.'),
  RATE_LIMIT_READS_PER_MINUTE: atLeastOne.default(600).describe('Balances and histories, by address.'),
  RATE_LIMIT_PAYMENTS_PER_MINUTE: atLeastOne
    .default(30)
    .describe('New payments, by wallet. At most a tenth of FACILITATOR_REQUESTS_PER_MINUTE.'),
  FACILITATOR_REQUESTS_PER_MINUTE: atLeastOne
    .default(3_000)
    .describe(
      "Settle requests of all replicas together. At most half of the facilitator's RATE_LIMIT_PAYMENTS_PER_MINUTE. New wallets get half of them.",
    ),
  RETENTION_USAGE_DAYS: atLeastOne
    .default(400)
    .describe('Days that the history of calls and their totals by hour are kept.'),
  RETENTION_USAGE_TOTALS_DAYS: atLeastOne.default(762).describe('Days that the totals by day are kept.'),
  RETENTION_PAYMENT_REQUEST_DAYS: atLeastOne
    .default(7)
    .describe('Days that what a payer signed is kept after the payment ended.'),
  RETENTION_FAILED_PAYMENT_DAYS: atLeastOne.default(90).describe('Days that failed payments are kept.'),
  RETENTION_SESSION_DAYS: atLeastOne
    .default(7)
    .describe('Days that a session is kept after its last refresh token expired.'),
  RETENTION_WEBHOOK_DAYS: atLeastOne
    .default(30)
    .describe('Days that delivered and failed webhooks are kept.'),
  RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: atLeastOne
    .default(600)
    .describe('Bodies above 16 KiB to `/rpc`, by address.'),
  TRUSTED_PROXIES: env.count
    .default(0)
    .describe('The number of proxies in front whose `X-Forwarded-For` is trusted.'),
  LOG_LEVEL: env.logLevel.default('info').describe('What is logged at least.'),
  ...tracingVariables,
  /** Passes `traceparent` on to the providers' upstreams. */
  TRACE_UPSTREAMS: env.flag
    .default(false)
    .describe('Whether `traceparent` is passed on to the upstreams of providers.'),
  /** The file of a script that the console loads first, such as a development wallet. Production refuses it. */
  CONSOLE_DEVELOPMENT_SCRIPT: env.text
    .optional()
    .describe(
      'The file of a script that the pages load first, such as a development wallet. Production refuses it.',
    ),
  CONSOLE_EXPLORER_LINKS: env.flag
    .default(true)
    .describe(
      'Whether the pages link to public block explorers: not for networks of your own, which no public explorer knows.',
    ),
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
    production: {
      secrets: SECRETS,
      required: { REDIS_URL: SHARED_REDIS },
      urls: ['PUBLIC_URL', 'FACILITATOR_URL', ...collectorVariables],
      servers: ['DATABASE_URL', 'REDIS_URL'],
    },
  })
