import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { migrate, openGatewayDatabase } from '@tollgate/database'
import { createLedger } from '@tollgate/gateway/dist/accounts/ledger'
import { createTokens } from '@tollgate/gateway/dist/auth/tokens'
import { applyCatalog } from '@tollgate/gateway/dist/catalog/apply'
import { findViolations, fund, openSession, randomAddress } from '@tollgate/gateway/dist/testing/accounts'
import { catalogOf, planOf, providerOf } from '@tollgate/gateway/dist/testing/catalog'
import { Redis } from 'ioredis'
import { type BenchmarkContext } from '../benchmark'
import { openPostgres, openRedis } from '../stores'
import { CHAIN, LONG_CHAIN } from './calls'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater'>

export const SECRET = 'a secret of this benchmark and of nothing else'
const CREDITS = 1_000_000_000
const AT_ONCE = 8

export type Stores = Awaited<ReturnType<typeof openStores>>
export type Caller = { wallet: string; token: string }

/** A Postgres and a Redis with the gateway's catalog, for any number of gateway processes. */
export async function openStores(place: Place, upstreams: { url: string; longUrl: string }, root: string) {
  const [postgres, redis] = await Promise.all([openPostgres(place), openRedis(place)])
  const databaseUrl = await postgres.createDatabase('gateway')
  await migrate({ url: databaseUrl, service: 'gateway', migrationsFolder: join(root, "prisma/gateway/migrations") })
  const database = openGatewayDatabase({ url: databaseUrl, poolSize: AT_ONCE })
  place.closeLater(() => database.close())
  const redisClient = new Redis(redis.url)
  place.closeLater(() => redisClient.disconnect())
  const providers = [
    providerOf({ chain_id: CHAIN, rpc: [upstreams.url] }),
    providerOf({ chain_id: LONG_CHAIN, rpc: [upstreams.longUrl] }),
  ]
  await applyCatalog(database, catalogOf({ plans: [planOf()], providers }))
  const ledger = createLedger(database)
  const tokens = createTokens([SECRET], () => new Date())

  async function createCaller(): Promise<Caller> {
    const wallet = randomAddress()
    await fund({ pool: database.pool, ledger }, wallet, CREDITS)
    const sid = await openSession(database.pool, wallet)
    const claims = { auth_method: 'siwe', chain_id: '84532', ecosystem: 'evm', pricing_plan_id: 1 } as const
    return { wallet, token: tokens.issue({ wallet, ...claims, sid, jti: randomUUID() }).token }
  }

  return {
    postgres,
    redis,
    database,
    databaseUrl,
    /** Wallets with credits and a session. Before the gateway starts, which would grant the same payments. */
    async createCallers(count: number): Promise<Caller[]> {
      const callers: Caller[] = []
      while (callers.length < count)
        callers.push(
          ...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - callers.length) }, createCaller))),
        )
      return callers
    },
    async walBytes(): Promise<number> {
      const { rows } = await database.pool.query<{ at: string }>(
        "SELECT (pg_current_wal_insert_lsn() - '0/0')::text AS at",
      )
      return Number(rows[0]?.at)
    },
    async redisCommands(): Promise<number> {
      return Number(/total_commands_processed:(\d+)/.exec(await redisClient.info('stats'))?.[1])
    },
    async usageRows(): Promise<number> {
      const { rows } = await database.pool.query<{ count: bigint }>(
        "SELECT count(*) FROM usage WHERE state <> 'refunded'",
      )
      return Number(rows[0]?.count)
    },
    findViolations: () => findViolations(database.pool),
  }
}
