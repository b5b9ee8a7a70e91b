import { pause, withTransaction, type GatewayDatabase, type PoolClient } from '@tollgate/database'
import { addToTotals, IS_FAILED, periodOf } from './totals-sql'

/** No transaction that may still commit has a call up to `lastCall` once all transactions before `transaction` have ended. */
type Horizon = { lastCall: bigint; transaction: string }

type Step = 'elsewhere' | 'early' | { calls: number; isLast: boolean }

/** `limit`: of the ids that a step covers. */
type Pace = { limit: number; pauseMs: number }
const PACE: Pace = { limit: 10_000, pauseMs: 20 }

const STATEMENT_TIMEOUT_MS = 10_000
/** Batches of charges end within milliseconds. */
const MAX_WAITS = 50

const LAST_CALL =
  'SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS "lastCall" FROM usage_id_seq'

/** Until the transaction ends no other replica counts, and no counted call changes. $1 the horizon's transaction. */
const BEGIN_STEP = `
SELECT last_call AS "counted", pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS "isSafe"
FROM usage_totals_progress FOR UPDATE SKIP LOCKED`

/** Counts the calls between the last one counted ($1) and $2, and stops before the first that has not ended. */
const COUNT = `
WITH page AS MATERIALIZED (
  SELECT id, account_id, chain_id, coalesce(rpc_method, '') AS rpc_method, state, credits, created_at, ${IS_FAILED} AS is_failed
  FROM usage WHERE id > $1 AND id <= $2
), stop AS MATERIALIZED (
  SELECT coalesce(min(id) - 1, $2) AS last_call FROM page WHERE state = 'reserved'
), hours AS MATERIALIZED (
  SELECT account_id, ${periodOf("'hour'", 'created_at')} AS period, chain_id, rpc_method, count(*) AS calls,
    coalesce(sum(credits) FILTER (WHERE state <> 'refunded'), 0) AS credits, count(*) FILTER (WHERE is_failed) AS failed
  FROM page WHERE id <= (SELECT last_call FROM stop) GROUP BY 1, 2, 3, 4
), added AS (${addToTotals(`
  SELECT account_id, 'hour' AS interval, period, chain_id, rpc_method, calls, credits, failed FROM hours
  UNION ALL
  SELECT account_id, 'day', ${periodOf("'day'", 'period')}, chain_id, rpc_method, sum(calls), sum(credits), sum(failed)
  FROM hours GROUP BY 1, 3, 4, 5`)}
)
UPDATE usage_totals_progress SET last_call = stop.last_call FROM stop
RETURNING (SELECT coalesce(sum(calls), 0) FROM hours)::int AS calls, stop.last_call AS "lastCall"`

/**
 * Adds the calls that have ended to the totals, in the order of their ids and up to the first that has not ended: each once, at
 * any number of replicas, whatever is killed. Returns the number of calls that it added.
 */
export async function countCalls(
  { pool }: Pick<GatewayDatabase, 'pool'>,
  signal: AbortSignal,
  { limit, pauseMs }: Pace = PACE,
): Promise<number> {
  const horizon = await readHorizon(pool)
  let calls = 0
  for (let waits = 0; !signal.aborted && waits < MAX_WAITS;) {
    const step = await withTransaction(pool, (client) => countStep(client, horizon, limit))
    if (step === 'elsewhere') break
    if (step === 'early') waits++
    else calls += step.calls
    if (step !== 'early' && step.isLast) break
    await pause(pauseMs, signal)
  }
  return calls
}

/** In this order: a batch of charges has its transaction id, from locking accounts, before it takes ids of calls. */
async function readHorizon(pool: GatewayDatabase['pool']): Promise<Horizon> {
  const lastCall = (await pool.query<{ lastCall: bigint }>(LAST_CALL)).rows[0]?.lastCall ?? 0n
  const { rows } = await pool.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id')
  if (!rows[0]) throw new Error('Postgres returned no row')
  return { lastCall, transaction: rows[0].id }
}

async function countStep(client: PoolClient, horizon: Horizon, limit: number): Promise<Step> {
  await client.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
  const [progress] = (
    await client.query<{ counted: bigint; isSafe: boolean }>(BEGIN_STEP, [horizon.transaction])
  ).rows
  if (!progress) return 'elsewhere'
  if (progress.counted >= horizon.lastCall) return { calls: 0, isLast: true }
  if (!progress.isSafe) return 'early'
  const last = progress.counted + BigInt(limit)
  const end = last < horizon.lastCall ? last : horizon.lastCall
  const [counted] = (await client.query<{ calls: number; lastCall: bigint }>(COUNT, [progress.counted, end]))
    .rows
  if (!counted) throw new Error('Postgres returned no row')
  return { calls: counted.calls, isLast: end === horizon.lastCall || counted.lastCall < end }
}
