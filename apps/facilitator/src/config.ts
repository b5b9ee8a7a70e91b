import {
  collectorVariables,
  ConfigurationError,
  env,
  readEnvironment,
  tracingVariables,
} from '@tollgate/service'
import { z } from 'zod'
import { readPercent } from './percent'
import { readNetworks, type NetworkConfiguration } from './networks/settings'

const atLeastOne = env.count.refine((value) => value >= 1, 'expected a whole number, at least 1')

const percent = z.string().transform((text, context) => {
  const bps = readPercent(text)
  if (bps !== undefined) return bps
  context.addIssue({
    code: 'custom',
    message: 'expected a percentage from 0 to 100, with two decimals at most',
  })
  return z.NEVER
})

export const Environment = z.object({
  NODE_ENV: env.mode
    .optional()
    .describe(
      '`production` refuses what is safe only on the machine of a developer, such as weak secrets, and sends webhooks to public https addresses only: [production mode](../production-mode.md).',
    ),
  PORT: env.port.prefault('8081').describe('Where the service listens. 0 chooses a free port.'),
  HOST: env.text.prefault('127.0.0.1').describe('`0.0.0.0` in a container; the images set it.'),
  PUBLIC_URL: env.url
    .prefault('http://127.0.0.1:8081')
    .describe('The URL that merchants use, in the API reference and the pages.'),
  /** The number of proxies in front of the service, whose X-Forwarded-For is trusted. */
  TRUSTED_PROXIES: env.count
    .prefault('0')
    .describe('The number of proxies in front whose `X-Forwarded-For` is trusted.'),
  DATABASE_URL: env.postgresUrl.describe(
    "The facilitator's own database in Postgres 15 or newer, with its migrations applied: directly, or through a pooler such as PgBouncer in session mode; in transaction mode the start is refused. `?sslmode=require` encrypts, `verify-full` also checks the certificate.",
  ),
  DATABASE_POOL_SIZE: atLeastOne
    .prefault('10')
    .describe('Connections that requests share. One more receives notifications, and one each signer.'),
  REDIS_URL: env.redisUrl
    .optional()
    .describe(
      'Rate limits and the verification cache, shared by all replicas. Required in production; without it they are kept in the process, which must be the only replica.',
    ),
  NETWORKS_FILE: env.text.describe('The [networks](#networks), a YAML file.'),
  JWT_SECRET: env.secret(32).describe("Secret. Signs users' access tokens: `openssl rand -hex 32`."),
  JWT_SECRET_PREVIOUS: env
    .secret(32)
    .optional()
    .describe('Secret. Tokens of this one are accepted too: [rotate](rotate.md#two-secrets).'),
  ADMIN_TOKEN: env
    .secret(32)
    .optional()
    .describe('Secret. Grants access to `/admin`. Without it there is no admin.'),
  ADMIN_TOKEN_PREVIOUS: env
    .secret(32)
    .optional()
    .describe('Secret. This one is accepted too: [rotate](rotate.md#two-secrets).'),
  LOG_LEVEL: env.logLevel.prefault('info').describe('What is logged at least.'),
  ...tracingVariables,
  METRICS_HOST: env.text.prefault('127.0.0.1').describe('As HOST, for the port of the metrics.'),
  METRICS_PORT: env.port.prefault('9081').describe('`GET /metrics` for Prometheus. Not public.'),
  SETTLE_TIMEOUT_SECONDS: env.seconds
    .prefault('25')
    .describe(
      'How long `/settle` waits for its outcome, or `maxTimeoutSeconds` if that is less. Then it answers `settlement_pending`, and the same request may be repeated.',
    ),
  VERIFICATION_CACHE_TTL_SECONDS: env.count
    .prefault('5')
    .describe('How long `/verify` caches that a request was valid. 0 turns the cache off.'),
  ARRIVED_PAYMENT_MAX_AGE_SECONDS: env.count
    .prefault('600')
    .describe(
      'How old a payment may be, by the time of its block, that is on chain already when it is first presented: it is settled once, without a transaction of the facilitator, if its recipient is [reserved](../settlement.md#payments-that-have-arrived) by the account of the client key. 0 refuses all of them.',
    ),
  RATE_LIMIT_ACCOUNTS_PER_MINUTE: atLeastOne
    .prefault('60')
    .describe('`/signup`, `/login` and `/token/refresh`, and wrong admin tokens, by address.'),
  RATE_LIMIT_PAYMENTS_PER_MINUTE: atLeastOne
    .prefault('6000')
    .describe(
      '`/verify` and `/settle`, by user. Where sign-up is open, new users of one address share twice as much. A body counts once for each started 16 KiB.',
    ),
  RATE_LIMIT_READS_PER_MINUTE: atLeastOne
    .prefault('600')
    .describe('`/status`, `/assets`, `/supported` and `/.well-known/x402`, by address.'),
  RATE_LIMIT_LISTS_PER_MINUTE: atLeastOne
    .prefault('60')
    .describe('Pages of the registry and of discovery, by address.'),
  RATE_LIMIT_USERS_PER_MINUTE: atLeastOne
    .prefault('600')
    .describe("Every route with a user's token, by user."),
  RATE_LIMIT_LOGINS_PER_MINUTE: atLeastOne.prefault('10').describe('`/login`, by account.'),
  SIGN_UP: z
    .enum(['open', 'invitation', 'closed'], { error: 'expected open, invitation or closed' })
    .prefault('open')
    .describe(
      'Who may create an account: everyone, those with an invitation, or only those whom the admin adds.',
    ),
  NEW_USER_FEE_SHARE_PERCENT: percent
    .prefault('1')
    .describe(
      "Share of each network's `max_fees_per_day` of one new user, until an operator sets another: [fee allowances](runbook.md#fee-allowances).",
    ),
  ALL_NEW_USERS_FEE_SHARE_PERCENT: percent.prefault('10').describe('The same, of all new users together.'),
  CLIENT_KEY_FEE_SHARE_PERCENT: percent
    .prefault('50')
    .describe("Share of its user's allowance of one client key."),
  OWNERSHIP_CHECKS_PER_MINUTE: atLeastOne
    .prefault('20')
    .describe("Reads of an origin's `/.well-known/x402` that one user may cause by registering resources."),
  RETENTION_PAYLOAD_DAYS: atLeastOne
    .prefault('30')
    .describe('Days that signed payloads are kept after their settlement ended.'),
  RETENTION_REFRESH_TOKEN_DAYS: atLeastOne
    .prefault('7')
    .describe('Days that refresh tokens are kept after they expired.'),
  RETENTION_METRICS_DAYS: atLeastOne
    .prefault('762')
    .describe('Days that metrics are kept, and client keys after they ended.'),
  RETENTION_CATALOG_DAYS: atLeastOne
    .prefault('30')
    .describe('Days that cataloged resources are kept after their last payment.'),
  RETENTION_WEBHOOK_DAYS: atLeastOne
    .prefault('30')
    .describe('Days that delivered and failed webhooks are kept.'),
  CONSOLE_EXPLORER_LINKS: env.flag
    .prefault('true')
    .describe(
      'Whether the pages link to public block explorers: not for networks of your own, which no public explorer knows.',
    ),
})
export type Environment = z.infer<typeof Environment>

const PRODUCTION = {
  secrets: ['JWT_SECRET', 'JWT_SECRET_PREVIOUS', 'ADMIN_TOKEN', 'ADMIN_TOKEN_PREVIOUS'],
  required: {
    REDIS_URL:
      'expected the address of a Redis that all replicas share, for limits and the verification cache',
  },
  urls: ['PUBLIC_URL', ...collectorVariables],
  servers: ['DATABASE_URL', 'REDIS_URL'],
} as const

/** Names of earlier releases. */
const RENAMED = {
  SETTLE_WAIT_SECONDS: 'SETTLE_TIMEOUT_SECONDS',
  VERDICT_TTL_SECONDS: 'VERIFICATION_CACHE_TTL_SECONDS',
} as const

export type Configuration = { environment: Environment; networks: readonly NetworkConfiguration[] }

/**
 * Reads the environment and its networks file.
 *
 * @throws ConfigurationError that lists all problems, without any value
 */
export function readConfiguration(variables: NodeJS.ProcessEnv): Configuration {
  const environment = attempt(() =>
    readEnvironment(Environment, variables, { renamed: RENAMED, production: PRODUCTION }),
  )
  const file = variables.NETWORKS_FILE?.trim()
  const networks = file ? attempt(() => readNetworks(file, variables)) : { problems: [] }
  if ('value' in environment && 'value' in networks)
    return { environment: environment.value, networks: networks.value }
  throw new ConfigurationError([...problemsIn(environment), ...problemsIn(networks)])
}

type Attempt<T> = { value: T } | { problems: string[] }

function attempt<T>(read: () => T): Attempt<T> {
  try {
    return { value: read() }
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: error.problems }
    throw error
  }
}

const problemsIn = (attempted: Attempt<unknown>) => ('problems' in attempted ? attempted.problems : [])
