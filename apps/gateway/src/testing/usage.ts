import { type GatewayDatabase } from '@tollgate/database'
import { UsageSum } from '@tollgate/protocol'
import { z } from 'zod'
import { createUsageReport } from '../accounts/usage/usage-report'
import { countCalls } from '../accounts/usage/count-calls'
import { usageRangeOf, type UsageRange } from '../accounts/usage/usage-range'

type Pool = GatewayDatabase['pool']

/** Waits for the open transactions of all databases of the server, other tests' too. */
export const count = (pool: Pool, pace = { limit: 10_000, pauseMs: 400 }) =>
  countCalls({ pool }, new AbortController().signal, pace)

export async function sumsIn(
  pool: Pool,
  of: { wallet: string; planId: number | undefined },
  range: UsageRange,
): Promise<UsageSum[]> {
  return z.array(UsageSum).parse(JSON.parse(await createUsageReport({ pool })(of, range)))
}

/** Sums of the last 30 days, by chain and method. */
export async function reportOf(pool: Pool, wallet: string, planId?: number) {
  const range = usageRangeOf({ interval: 'day' }, new Date())
  return (await sumsIn(pool, { wallet, planId }, range)).map(
    ({ chain_id, rpc_method, calls, credits, failed }) => ({
      chain_id,
      rpc_method,
      calls,
      credits,
      failed,
    }),
  )
}

/** The same, from the rows of the calls. */
export async function sumsOf(pool: Pool, wallet: string) {
  const { rows } = await pool.query<Awaited<ReturnType<typeof reportOf>>[number]>(
    `SELECT chain_id, rpc_method, count(*)::int AS calls,
       sum(CASE state WHEN 'refunded' THEN 0 ELSE credits END)::int AS credits,
       count(*) FILTER (WHERE state = 'refunded' OR outcome IN ('upstream_timeout', 'upstream_refused') OR status_code >= 500)::int AS failed
     FROM usage WHERE account_id IN (SELECT id FROM accounts WHERE wallet = $1)
     GROUP BY 1, 2 ORDER BY count(*) DESC, 1, 2`,
    [wallet],
  )
  return rows
}

/** All queries of `work` see one snapshot. */
export async function inSnapshot<T>(pool: Pool, work: (pool: Pool) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return await work(client as unknown as Pool)
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}
