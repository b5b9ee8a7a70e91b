import { ALL_USERS } from './metrics-buffer'

/** $1 user or ALL_USERS, $2 first and $3 last day, $4 format of a period. */

const own = `client_id IN (SELECT client_id FROM clients WHERE $1 = ${ALL_USERS} OR user_id = $1)`
/** Read from one covering index. */
const ended = `${own}
  AND ended_at >= $2::date::timestamp AT TIME ZONE 'UTC' AND ended_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'`
const period = (time: string) => `coalesce(to_char(${time}, $4), '')`

/** `amount` is in decimal digits. `network` is empty if the request named an unknown one. */
export type EndRow = {
  period: string
  network: string
  asset: string | null
  symbol: string | null
  decimals: number | null
  /** `duplicate`: a request for a payment that was settled before, which is no failed sale. */
  end: 'settled' | 'failed' | 'reversed' | 'duplicate'
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
SELECT ${period('day')}, network, NULL, NULL, NULL,
  CASE reason WHEN 'duplicate_settlement' THEN 'duplicate' ELSE 'failed' END, reason, sum(count)::bigint, '0'
FROM settlement_refusals WHERE ${own} AND day BETWEEN $2 AND $3
GROUP BY 1, network, reason
ORDER BY period, network, asset`

/** Each settlement's share of the network fees. A transaction shared by users or days is counted in each, with its share. */
export type FeeRow = { period: string; network: string; transactions: bigint; amount: string }

export const FEES = `
SELECT ${period(`ended_at AT TIME ZONE 'UTC'`)} AS period, network, count(DISTINCT transaction_id) AS transactions,
  sum(fee)::text AS amount
FROM settlements WHERE ${ended} AND fee > 0
GROUP BY 1, network ORDER BY period, network`
