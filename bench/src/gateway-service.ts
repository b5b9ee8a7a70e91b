import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { migrate, openGatewayDatabase, type GatewayDatabase } from '@tollgate/database'
import { applyCatalog } from '@tollgate/gateway/dist/catalog/apply'
import { catalogOf, planOf, providerOf } from '@tollgate/gateway/dist/testing/catalog'
import { SERVICE_NODE_OPTIONS } from '@tollgate/devnet'
import { onFreePort, startProcess } from '@tollgate/processes'
import { type BenchmarkContext } from './benchmark'
import { root } from './machine'
import { openPostgres, openRedis, type Postgres, type Redis } from './stores'

type Context = Pick<BenchmarkContext, 'folder' | 'closeLater'>

/** Above every load. */
export const WIDE_LIMIT = '100000000'
export const SIGN_IN_DOMAIN = 'Tollgate'

export type GatewayStores = {
  database: GatewayDatabase
  databaseUrl: string
  /** Of every gateway process on these stores. */
  environment: NodeJS.ProcessEnv
}

/** Without `upstreamUrl` there is no provider. Plans count from 1. */
type StoreOptions = { name?: string; plans?: number; upstreamUrl?: string }

/** A migrated database of its own, with plans on EVM chain 84532. */
export async function createGatewayStores(
  { closeLater }: Context,
  { postgres, redis }: { postgres: Postgres; redis: Redis },
  { name = 'gateway', plans: count = 1, upstreamUrl }: StoreOptions = {},
): Promise<GatewayStores> {
  const databaseUrl = await postgres.createDatabase(name)
  await migrate({ url: databaseUrl, service: 'gateway' })
  const database = openGatewayDatabase({ url: databaseUrl, poolSize: 2 })
  closeLater(() => database.close())
  const plans = Array.from({ length: count }, (_, index) => planOf({ id: index + 1 }))
  const providers = upstreamUrl === undefined ? [] : [providerOf({ chain_id: '84532', rpc: [upstreamUrl] })]
  await applyCatalog(database, catalogOf({ plans, providers }))
  return { database, databaseUrl, environment: environmentOf(databaseUrl, redis.url) }
}

export const openStores = async (context: Context) => ({
  postgres: await openPostgres(context),
  redis: await openRedis(context),
})

const environmentOf = (databaseUrl: string, redisUrl: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  PUBLIC_URL: 'http://127.0.0.1',
  DATABASE_URL: databaseUrl,
  REDIS_URL: redisUrl,
  JWT_SECRET: randomBytes(32).toString('hex'),
  SIGN_IN_DOMAINS: SIGN_IN_DOMAIN,
  FACILITATOR_URL: 'http://127.0.0.1:9',
  FACILITATOR_CLIENT_ID: 'bench',
  FACILITATOR_CLIENT_TOKEN: randomBytes(32).toString('hex'),
  RATE_LIMIT_AUTH_PER_MINUTE: WIDE_LIMIT,
  RATE_LIMIT_RPC_PER_MINUTE: WIDE_LIMIT,
  RATE_LIMIT_READS_PER_MINUTE: WIDE_LIMIT,
  RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: WIDE_LIMIT,
})

export type NodeServer = { url: string; pid: number; stop: () => Promise<void> }

/** A gateway process, ready to serve. */
export const startGateway = (
  context: Context,
  { environment }: GatewayStores,
  { name = 'gateway', nodeOptions = [] }: { name?: string; nodeOptions?: readonly string[] } = {},
): Promise<NodeServer> => {
  const main = join(root, 'apps/gateway/dist/main.js')
  return startNodeServer(context, { name, args: [...nodeOptions, main], environment })
}

/** A server of Node that listens on PORT and answers `GET /ready` with 200. */
export async function startNodeServer(
  { folder, closeLater }: Context,
  { name, args, environment }: { name: string; args: readonly string[]; environment: NodeJS.ProcessEnv },
): Promise<NodeServer> {
  return onFreePort(undefined, async (port) => {
    const url = `http://127.0.0.1:${port}`
    const server = await startProcess({
      name,
      command: process.execPath,
      args: [...args],
      cwd: root,
      env: { NODE_OPTIONS: SERVICE_NODE_OPTIONS, ...environment, PORT: String(port), METRICS_PORT: '0' },
      logFile: join(folder, `${name}.log`),
      ready: async () => (await fetch(`${url}/ready`)).status === 200,
      stopSeconds: 15,
    })
    closeLater(() => server.stop())
    return { url, pid: server.pid, stop: server.stop }
  })
}
