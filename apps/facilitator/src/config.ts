import { ConfigurationError, env, readEnvironment, tracingVariables } from '@tollgate/service'
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
  NODE_ENV: env.text.optional(),
  PORT: env.port.prefault('8081'),
  HOST: env.text.prefault('127.0.0.1'),
  PUBLIC_URL: env.url.prefault('http://127.0.0.1:8081'),
  /** The number of proxies in front of the service, whose X-Forwarded-For is trusted. */
  TRUSTED_PROXIES: env.count.prefault('0'),
  DATABASE_URL: env.postgresUrl,
  DATABASE_POOL_SIZE: atLeastOne.prefault('10'),
  REDIS_URL: env.redisUrl.optional(),
  NETWORKS_FILE: env.text,
  JWT_SECRET: env.secret(32),
  JWT_SECRET_PREVIOUS: env.secret(32).optional(),
  ADMIN_TOKEN: env.secret(32).optional(),
  ADMIN_TOKEN_PREVIOUS: env.secret(32).optional(),
  LOG_LEVEL: env.logLevel.prefault('info'),
  ...tracingVariables,
  METRICS_HOST: env.text.prefault('127.0.0.1'),
  METRICS_PORT: env.port.prefault('9081'),
  SETTLE_TIMEOUT_SECONDS: env.seconds.prefault('25'),
  VERIFICATION_CACHE_TTL_SECONDS: env.count.prefault('5'),
  RATE_LIMIT_ACCOUNTS_PER_MINUTE: atLeastOne.prefault('60'),
  RATE_LIMIT_PAYMENTS_PER_MINUTE: atLeastOne.prefault('6000'),
  RATE_LIMIT_READS_PER_MINUTE: atLeastOne.prefault('600'),
  RATE_LIMIT_LISTS_PER_MINUTE: atLeastOne.prefault('60'),
  RATE_LIMIT_USERS_PER_MINUTE: atLeastOne.prefault('600'),
  RATE_LIMIT_LOGINS_PER_MINUTE: atLeastOne.prefault('10'),
  SIGN_UP: z
    .enum(['open', 'invitation', 'closed'], { error: 'expected open, invitation or closed' })
    .prefault('open'),
  NEW_USER_FEE_SHARE_PERCENT: percent.prefault('1'),
  ALL_NEW_USERS_FEE_SHARE_PERCENT: percent.prefault('10'),
  CLIENT_KEY_FEE_SHARE_PERCENT: percent.prefault('50'),
  OWNERSHIP_CHECKS_PER_MINUTE: atLeastOne.prefault('20'),
  RETENTION_PAYLOAD_DAYS: atLeastOne.prefault('30'),
  RETENTION_REFRESH_TOKEN_DAYS: atLeastOne.prefault('7'),
  RETENTION_METRICS_DAYS: atLeastOne.prefault('762'),
  RETENTION_CATALOG_DAYS: atLeastOne.prefault('30'),
  RETENTION_WEBHOOK_DAYS: atLeastOne.prefault('30'),
  CONSOLE_EXPLORER_LINKS: env.flag.prefault('true'),
})
export type Environment = z.infer<typeof Environment>

const PRODUCTION = {
  secrets: ['JWT_SECRET', 'ADMIN_TOKEN'],
  required: {
    REDIS_URL:
      'expected the address of a Redis that all replicas share, for limits and the verification cache',
  },
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
