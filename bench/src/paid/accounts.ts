import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type GatewayDatabase, migrate, openGatewayDatabase } from '@tollgate/database'
import { createLedger } from '@tollgate/gateway/dist/accounts/ledger'
import { createTokens } from '@tollgate/gateway/dist/auth/tokens'
import { applyCatalog } from '@tollgate/gateway/dist/catalog/apply'
import { findViolations, fund, openSession, randomAddress } from '@tollgate/gateway/dist/testing/accounts'
import { catalogOf, planOf, providerOf } from '@tollgate/gateway/dist/testing/catalog'
import { type BenchmarkContext } from '../benchmark'
import { root } from '../machine'
import { MEGABYTE_PATH } from '../peers/nginx'
import { type Postgres } from '../stores'
import { CHAIN, LONG_CHAIN } from './calls'

type Place = Pick<BenchmarkContext, 'closeLater'>

export const SECRET = 'a secret of this benchmark and of nothing else'
const CREDITS = 1_000_000_000
/** The pool size of the gateway. */
const AT_ONCE = 10
/** The statements of a gateway that has answered all calls. */
const UNFINISHED_TIMEOUT_MS = 15_000

export type Caller = { wallet: string; token: string; sessionId: string }

export type AccountsOptions = {
  postgres: Pick<Postgres, 'createDatabase'>
  /** Of the database. */
  name?: string
  upstreamUrl: string
  /** The checkout whose migrations are applied. */
  checkout?: string
}

/** A database of a gateway, with a plan, providers at the upstream, and wallets with credits. */
export async function openAccounts(
  { closeLater }: Place,
  { postgres, name = 'gateway', upstreamUrl, checkout = root }: AccountsOptions,
) {
  const databaseUrl = await postgres.createDatabase(name)
  const migrationsFolder = join(checkout, 'prisma/gateway/migrations')
  await migrate({ url: databaseUrl, service: 'gateway', migrationsFolder })
  const database = openGatewayDatabase({ url: databaseUrl, poolSize: AT_ONCE })
  closeLater(() => database.close())
  const { pool } = database
  const providers = [
    providerOf({ chain_id: CHAIN, rpc: [upstreamUrl] }),
    providerOf({ chain_id: LONG_CHAIN, rpc: [`${upstreamUrl}${MEGABYTE_PATH}`] }),
  ]
  await applyCatalog(database, catalogOf({ plans: [planOf()], providers }))
  const createCaller = callerFactory(database)

  return {
    database,
    databaseUrl,
    /** Call it before the gateway starts, which would grant the same payments. */
    async createCallers(count: number): Promise<Caller[]> {
      const callers: Caller[] = []
      const lane = async () => {
        while (callers.length < count) callers.push(await createCaller())
      }
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, lane))
      return callers.slice(0, count)
    },
    /** Resolves to their number once all are finished. */
    async chargedCalls(): Promise<number> {
      const deadline = Date.now() + UNFINISHED_TIMEOUT_MS
      for (;;) {
        const { rows } = await pool.query<{ charged: bigint; unfinished: bigint }>(
          `SELECT count(*) FILTER (WHERE state <> 'refunded') AS charged,
             count(*) FILTER (WHERE state = 'reserved') AS unfinished FROM usage`,
        )
        if (rows[0]?.unfinished === 0n) return Number(rows[0].charged)
        if (Date.now() > deadline) throw new Error(`${rows[0]?.unfinished} calls are not finished`)
        await delay(100)
      }
    },
    async walBytes(): Promise<number> {
      const text = "SELECT (pg_current_wal_insert_lsn() - '0/0')::text AS at"
      return Number((await pool.query<{ at: string }>(text)).rows[0]?.at)
    },
    findViolations: () => findViolations(pool),
  }
}

function callerFactory(database: GatewayDatabase) {
  const { pool } = database
  const ledger = createLedger(database)
  const tokens = createTokens([SECRET], () => new Date())
  return async (): Promise<Caller> => {
    const wallet = randomAddress()
    await fund({ pool, ledger }, wallet, CREDITS)
    const sessionId = await openSession(pool, wallet)
    const claims = { auth_method: 'siwe', chain_id: '84532', ecosystem: 'evm', pricing_plan_id: 1 } as const
    const { token } = tokens.issue({ wallet, ...claims, sid: sessionId, jti: randomUUID() })
    return { wallet, token, sessionId }
  }
}
