import { type GatewayDatabase } from '@tollgate/database'
import { ApiError } from '@tollgate/service'
import { IS_FAILED, periodOf } from './totals-sql'
import { type UsageRange } from './usage-range'

/** Of one chain; the calls of its other methods are summed. */
const METHODS_PER_CHAIN = 20
/** Of all chains. */
const METHODS = 100

/** There are more only while the totals of older calls are being computed. */
const MAX_UNCOUNTED = 300_000

/** `data` is a JSON array of `UsageSum`. */
type Row = { uncounted: bigint; data: string }

/**
 * $1 wallet, $2 interval, $3 from, $4 to, $5 plan or null. The totals, and the calls after the last one in them. Both are of one
 * snapshot, so each call is in one of the two. Accounts are looked up one by one (LATERAL, OFFSET 0), so that Postgres searches
 * the index of an account's calls, and not all calls after the last one in the totals.
 */
const REPORT = `
WITH account AS MATERIALIZED (
  SELECT id FROM accounts WHERE wallet = $1 AND ($5::int IS NULL OR pricing_plan_id = $5)
), uncounted AS MATERIALIZED (
  SELECT call.* FROM account CROSS JOIN LATERAL (
    SELECT ${periodOf('$2::text', 'created_at')} AS period, chain_id, coalesce(rpc_method, '') AS rpc_method,
      CASE state WHEN 'refunded' THEN 0 ELSE credits END AS credits, ${IS_FAILED} AS is_failed
    FROM usage WHERE account_id = account.id AND id > (SELECT last_call FROM usage_totals_progress) OFFSET 0
  ) AS call
  LIMIT ${MAX_UNCOUNTED + 1}
), series AS MATERIALIZED (
  SELECT period, chain_id, rpc_method, sum(calls) AS calls, sum(credits) AS credits, sum(failed) AS failed
  FROM (
    SELECT period, chain_id, rpc_method, calls, credits, failed FROM account CROSS JOIN LATERAL (
      SELECT * FROM usage_totals WHERE account_id = account.id AND interval = $2 AND period >= $3 AND period < $4 OFFSET 0
    ) AS total
    UNION ALL
    SELECT period, chain_id, rpc_method, count(*), sum(credits), count(*) FILTER (WHERE is_failed) FROM uncounted
    WHERE period >= $3 AND period < $4 GROUP BY 1, 2, 3
  ) AS parts
  GROUP BY 1, 2, 3
), ranked AS (
  SELECT chain_id, rpc_method, total, row_number() OVER (PARTITION BY chain_id ORDER BY total DESC, rpc_method) AS place
  FROM (SELECT chain_id, rpc_method, sum(calls) AS total FROM series GROUP BY 1, 2) AS methods
), named AS (
  SELECT coalesce(jsonb_object_agg(chain_id || ' ' || rpc_method, 1), '{}') AS methods FROM (
    SELECT * FROM ranked WHERE place <= ${METHODS_PER_CHAIN} ORDER BY total DESC, chain_id, rpc_method LIMIT ${METHODS}
  ) AS most_called
), shown AS (
  SELECT period, chain_id,
    CASE WHEN (SELECT methods FROM named) ? (chain_id || ' ' || rpc_method) THEN nullif(rpc_method, '') ELSE 'other' END AS rpc_method,
    sum(calls) AS calls, sum(credits) AS credits, sum(failed) AS failed
  FROM series GROUP BY 1, 2, 3
)
SELECT (SELECT count(*) FROM uncounted) AS uncounted, (
  SELECT coalesce(json_agg(json_build_object(
    'period', to_char(period AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'chain_id', chain_id,
    'rpc_method', rpc_method, 'calls', calls, 'credits', credits, 'failed', failed
  ) ORDER BY period, calls DESC, chain_id, rpc_method), '[]')::text FROM shown
) AS data`

export type UsageReport = ReturnType<typeof createUsageReport>

/** Calls and credits of a wallet over time: exact, and up to date with its last call. */
export function createUsageReport({ pool }: Pick<GatewayDatabase, 'pool'>) {
  /**
   * Returns JSON as Postgres writes it: tens of thousands of objects would hold up other requests.
   *
   * @throws ApiError UNAVAILABLE while too many calls are not in the totals yet
   */
  return async (
    { wallet, planId }: { wallet: string; planId: number | undefined },
    { interval, from, to }: UsageRange,
  ): Promise<string> => {
    const values = [wallet, interval, from, to, planId ?? null]
    const { rows } = await pool.query<Row>({ name: 'usage-report', text: REPORT, values })
    const { uncounted, data } = rows[0] ?? { uncounted: 0n, data: '[]' }
    if (uncounted <= MAX_UNCOUNTED) return data
    throw new ApiError('UNAVAILABLE', 'The totals of this wallet are being computed; try again later', {
      retryAfterSeconds: 60,
    })
  }
}
