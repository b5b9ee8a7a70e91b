import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { migrate, openGatewayDatabase } from '@tollgate/database'
import { createLedger } from '@tollgate/gateway/dist/accounts/ledger'
import { createTokens } from '@tollgate/gateway/dist/auth/tokens'
import { applyCatalog } from '@tollgate/gateway/dist/catalog/apply'
import {
  findViolations,
  insertPayment,
  openSession,
  randomAddress,
} from '@tollgate/gateway/dist/testing/accounts'
import { catalogOf, planOf, providerOf } from '@tollgate/gateway/dist/testing/catalog'
import { type BenchmarkContext } from '../benchmark'
import { root } from '../machine'
import { type Postgres } from '../stores'
import { CHAIN, LONG_CHAIN, LONG_PATH } from './chains'

type Place = Pick<BenchmarkContext, 'closeLater'>

export const SECRET = 'a secret of this benchmark and of nothing else'
const CREDITS = 1_000_000_000
/** The pool size of the gateway. */
const AT_ONCE = 10
/** The statements of a gateway that has answered all calls. */
const UNFINISHED_TIMEOUT_MS = 15_000

export type Caller = { wallet: string; token: string; sessionId: string }

export type Accounts = Awaited<ReturnType<typeof openAccounts>>

export type AccountsOptions = {
  postgres: Pick<Postgres, 'createDatabase'>
  /** Of the database. */
  name?: string
  /** Plans count from 1. */
  plans?: number
  /** Without it there are no providers. */
  upstreamUrl?: string
  /** The checkout whose migrations are applied. */
  checkout?: string
}

/** A database of a gateway, with plans, providers at the upstream, and wallets with credits. */
export async function openAccounts(
  { closeLater }: Place,
  { postgres, name = 'gateway', plans = 1, upstreamUrl, checkout = root }: AccountsOptions,
) {
  const databaseUrl = await postgres.createDatabase(name)
  const migrationsFolder = join(checkout, 'prisma/gateway/migrations')
  await migrate({ url: databaseUrl, service: 'gateway', migrationsFolder })
  const database = openGatewayDatabase({ url: databaseUrl, poolSize: AT_ONCE })
  closeLater(() => database.close())
  const { pool } = database
  const providers = Object.entries(upstreamUrl === undefined ? {} : urlsOf(upstreamUrl))
  await applyCatalog(
    database,
    catalogOf({
      plans: Array.from({ length: plans }, (_, index) => planOf({ id: index + 1 })),
      providers: providers.map(([chain_id, url]) => providerOf({ chain_id, rpc: [url] })),
    }),
  )
  const ledger = createLedger(database)
  const tokens = createTokens([SECRET], () => new Date())

  /** If the running gateway grants the payment first, `grant` waits for that. */
  async function fund(wallet: string, credits: number): Promise<void> {
    await ledger.grant(await insertPayment(pool, { wallet, credits }))
  }

  async function createCaller(credits = CREDITS): Promise<Caller> {
    const wallet = randomAddress()
    if (credits > 0) await fund(wallet, credits)
    const sessionId = await openSession(pool, wallet)
    const claims = { auth_method: 'siwe', chain_id: CHAIN, ecosystem: 'evm', pricing_plan_id: 1 } as const
    const { token } = tokens.issue({ wallet, ...claims, sid: sessionId, jti: randomUUID() })
    return { wallet, token, sessionId }
  }

  return {
    database,
    databaseUrl,
    fund,
    /** A new wallet with a session. */
    createCaller,
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

const urlsOf = (upstreamUrl: string) => ({
  [CHAIN]: upstreamUrl,
  [LONG_CHAIN]: `${upstreamUrl}${LONG_PATH}`,
})
