import { type GatewayDatabase } from '@tollgate/database'
import { UsageSum } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { IS_FAILED, periodOf } from './totals-sql'
import { type UsageRange } from './usage-range'

/** Of one chain; the calls of its other methods are summed. */
const METHODS_PER_CHAIN = 20
/** Of all chains. */
const METHODS = 100
const OTHER = 'other'

/** Takes Postgres less than a second. There are more only while the totals of older calls are being computed. */
const MAX_UNCOUNTED = 500_000

/** A row without `period` means that there are no calls. */
type Row = { uncounted: bigint } & (
  | { period: null }
  | { period: Date; chain_id: string; rpc_method: string; calls: string; credits: string; failed: string }
)

const ACCOUNT_IDS =
  'ARRAY(SELECT id FROM accounts WHERE wallet = $1 AND ($5::int IS NULL OR pricing_plan_id = $5))'

/**
 * $1 wallet, $2 interval, $3 from, $4 to, $5 plan or null. The totals, and the calls after the last one in them. Both are of one snapshot, so
 * each call is in one of the two.
 */
const REPORT = `
WITH uncounted AS MATERIALIZED (
  SELECT ${periodOf('$2::text', 'created_at')} AS period, chain_id, coalesce(rpc_method, '') AS rpc_method,
    CASE state WHEN 'refunded' THEN 0 ELSE credits END AS credits, ${IS_FAILED} AS is_failed
  FROM usage WHERE account_id = ANY (${ACCOUNT_IDS}) AND id > (SELECT last_call FROM usage_totals_progress)
  LIMIT ${MAX_UNCOUNTED + 1}
), series AS MATERIALIZED (
  SELECT period, chain_id, rpc_method, sum(calls) AS calls, sum(credits) AS credits, sum(failed) AS failed
  FROM (
    SELECT period, chain_id, rpc_method, calls, credits, failed FROM usage_totals
    WHERE account_id = ANY (${ACCOUNT_IDS}) AND interval = $2 AND period >= $3 AND period < $4
    UNION ALL
    SELECT period, chain_id, rpc_method, count(*), sum(credits), count(*) FILTER (WHERE is_failed) FROM uncounted
    WHERE period >= $3 AND period < $4 GROUP BY 1, 2, 3
  ) AS parts
  GROUP BY 1, 2, 3
), ranked AS (
  SELECT chain_id, rpc_method, row_number() OVER (PARTITION BY chain_id ORDER BY total DESC, rpc_method) AS place,
    row_number() OVER (ORDER BY total DESC, chain_id, rpc_method) AS overall
  FROM (SELECT chain_id, rpc_method, sum(calls) AS total FROM series GROUP BY 1, 2) AS methods
), named AS (
  SELECT jsonb_object_agg(chain_id || ' ' || rpc_method, 1) AS methods FROM ranked
  WHERE place <= ${METHODS_PER_CHAIN} AND overall <= ${METHODS}
), shown AS (
  SELECT period, chain_id,
    CASE WHEN (SELECT methods FROM named) ? (chain_id || ' ' || rpc_method) THEN rpc_method ELSE '${OTHER}' END AS rpc_method,
    sum(calls) AS calls, sum(credits) AS credits, sum(failed) AS failed
  FROM series GROUP BY 1, 2, 3
)
SELECT counted.uncounted, shown.*
FROM (SELECT count(*) AS uncounted FROM uncounted) AS counted LEFT JOIN shown ON true
ORDER BY period, calls DESC, chain_id, rpc_method`

export type UsageReport = ReturnType<typeof createUsageReport>

/** Calls and credits of a wallet over time: exact, and up to date with its last call. */
export function createUsageReport({ pool }: Pick<GatewayDatabase, 'pool'>) {
  /** @throws ApiError UNAVAILABLE while too many calls are not in the totals yet */
  return async (
    { wallet, planId }: { wallet: string; planId: number | undefined },
    { interval, from, to }: UsageRange,
  ): Promise<UsageSum[]> => {
    const values = [wallet, interval, from, to, planId ?? null]
    const { rows } = await pool.query<Row>({ name: 'usage-report', text: REPORT, values })
    if ((rows[0]?.uncounted ?? 0n) > MAX_UNCOUNTED)
      throw new ApiError('UNAVAILABLE', 'The totals of this wallet are being computed; try again later', {
        retryAfterSeconds: 60,
      })
    return rows.filter((row) => row.period !== null).map(sumOf)
  }
}

const sumOf = ({ period, chain_id, rpc_method, calls, credits, failed }: Extract<Row, { period: Date }>) =>
  UsageSum.parse({
    period: period.toISOString(),
    chain_id,
    rpc_method: rpc_method === '' ? null : rpc_method,
    calls: Number(calls),
    credits: Number(credits),
    failed: Number(failed),
  })
