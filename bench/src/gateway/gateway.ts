import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type BenchmarkContext } from '../benchmark'
import { root } from '../machine'
import { type NodeServer, startNodeServer } from '../node-server'
import { WIDE_LIMIT } from '../wide-limit'
import { SECRET } from './accounts'

export const SIGN_IN_DOMAIN = 'Tollgate'

const wideLimits = {
  RATE_LIMIT_AUTH_PER_MINUTE: WIDE_LIMIT,
  RATE_LIMIT_RPC_PER_MINUTE: WIDE_LIMIT,
  RATE_LIMIT_READS_PER_MINUTE: WIDE_LIMIT,
  RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: WIDE_LIMIT,
}

export type GatewayOptions = {
  name?: string
  /** A checkout that is built. */
  checkout?: string
  /** Before the program. */
  nodeArguments?: readonly string[]
  /** Variables of the rate limits. Without them, the limits are on and never reached. */
  limits?: Readonly<Record<string, string>>
  /** Further variables. */
  variables?: Readonly<Record<string, string>>
}

/** A gateway process as in production, which writes its log to a file. */
export const startGateway = (
  place: Pick<BenchmarkContext, 'folder' | 'closeLater'>,
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string | undefined },
  {
    name = 'gateway',
    checkout = root,
    nodeArguments = [],
    limits = wideLimits,
    variables = {},
  }: GatewayOptions = {},
): Promise<NodeServer> =>
  startNodeServer(place, {
    name,
    args: [...nodeArguments, join(checkout, 'apps/gateway/dist/main.js')],
    cwd: checkout,
    environment: {
      PUBLIC_URL: 'http://127.0.0.1',
      DATABASE_URL: databaseUrl,
      // Production requires a Redis.
      ...(redisUrl === undefined ? {} : { NODE_ENV: 'production', REDIS_URL: redisUrl }),
      JWT_SECRET: SECRET,
      SIGN_IN_DOMAINS: SIGN_IN_DOMAIN,
      FACILITATOR_URL: 'http://127.0.0.1:9',
      FACILITATOR_CLIENT_ID: 'bench',
      FACILITATOR_CLIENT_TOKEN: randomBytes(32).toString('hex'),
      ...limits,
      ...variables,
    },
  })
