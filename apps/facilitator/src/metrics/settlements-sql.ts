import { EVERYBODY } from './counts'

/** Settlements by day, month or in all: of the clients of $1, a user or everybody, from the day $2 to $3, by periods of format $4. */

const own = `client_id IN (SELECT client_id FROM clients WHERE $1 = ${EVERYBODY} OR user_id = $1)`
/** Answered from one covering index, in which the settlements of a client are adjacent. */
const ended = `${own}
  AND ended_at >= $2::date::timestamp AT TIME ZONE 'UTC' AND ended_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'`
const period = (time: string) => `coalesce(to_char(${time}, $4), '')`

/** How many came to which end, and what was paid: exact, as digits. `network` is empty where the request named none of ours. */
export type EndRow = {
  period: string
  network: string
  asset: string | null
  symbol: string | null
  decimals: number | null
  end: 'settled' | 'failed' | 'reversed'
  reason: string | null
  count: bigint
  amount: string
}

export const ENDS = `
WITH summed AS (
  SELECT ${period(`ended_at AT TIME ZONE 'UTC'`)} AS period, network, asset, status AS "end", error_reason AS reason,
    count(*) AS count, sum(amount) AS amount
  FROM settlements WHERE ${ended}
  GROUP BY 1, network, asset, status, error_reason
)
SELECT period, network, asset, symbol, decimals, "end", reason, count, amount::text
FROM summed LEFT JOIN assets USING (network, asset)
UNION ALL
SELECT ${period('day')}, network, NULL, NULL, NULL, 'failed', reason, sum(count)::bigint, '0'
FROM settlement_refusals WHERE ${own} AND day BETWEEN $2 AND $3
GROUP BY 1, network, reason
ORDER BY period, network, asset`

/**
 * Network fees: of each settlement its share of what its transactions cost. Shares are whole and add up to the fee, so that
 * a transaction of many users, or over two days, is in each with its part; it is counted in each.
 */
export type FeeRow = { period: string; network: string; transactions: bigint; amount: string }

export const FEES = `
SELECT ${period(`ended_at AT TIME ZONE 'UTC'`)} AS period, network, count(DISTINCT transaction_id) AS transactions,
  sum(fee)::text AS amount
FROM settlements WHERE ${ended} AND fee > 0
GROUP BY 1, network ORDER BY period, network`
