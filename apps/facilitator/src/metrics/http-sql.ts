import { ALL_USERS } from './metrics-buffer'

/**
 * HTTP requests by day, by month or in total, with their latency percentiles. The p-th percentile is the first bucket that
 * includes at least p percent of the requests. Groups have a numeric `id`, which sorts faster than their names.
 */

type Percentiles = { p50: number | null; p90: number | null; p99: number | null }

/** `period` is empty for the total. Rows of a status have no percentiles. */
export type HttpRow = Percentiles & { period: string; requests: bigint } & (
    | { part: 'total' }
    | { part: 'route'; method: string; route: string }
    | { part: 'status'; status: number }
  )

export type ClientRow = Percentiles & { period: string; client_id: string; requests: bigint }

const periodOf = `coalesce(to_char(day, $4), '')`

const percentiles = `
  SELECT id, min(bucket) FILTER (WHERE upto * 100 >= total * 50) AS p50,
    min(bucket) FILTER (WHERE upto * 100 >= total * 90) AS p90, min(bucket) FILTER (WHERE upto * 100 >= total * 99) AS p99
  FROM (
    SELECT id, bucket, sum(n) OVER (PARTITION BY id ORDER BY bucket) AS upto, sum(n) OVER (PARTITION BY id) AS total
    FROM bucketed
  ) AS ranked GROUP BY id`

/** $1 user or ALL_USERS, $2 first and $3 last day, $4 format of a period, $5 maximum number of routes in a period. */
export const HTTP = `
WITH selected AS MATERIALIZED (
  SELECT ${periodOf} AS period, method, route, status, count, buckets, counts
  FROM http_metrics WHERE user_id = $1 AND day BETWEEN $2 AND $3
), routes AS MATERIALIZED (
  SELECT row_number() OVER () AS id, row_number() OVER (PARTITION BY period ORDER BY requests DESC, method, route) AS place, *
  FROM (SELECT period, method, route, sum(count)::bigint AS requests FROM selected GROUP BY period, method, route) AS summed
), totals AS MATERIALIZED (
  SELECT -row_number() OVER () AS id, period, sum(requests)::bigint AS requests FROM routes GROUP BY period
), by_route AS MATERIALIZED (
  SELECT id, bucket, sum(n)::bigint AS n
  FROM (SELECT id, unnest(buckets) AS bucket, unnest(counts) AS n FROM selected JOIN routes USING (period, method, route)) AS each
  GROUP BY id, bucket
), bucketed AS (
  SELECT * FROM by_route
  UNION ALL
  SELECT totals.id, bucket, sum(n)::bigint FROM by_route JOIN routes USING (id) JOIN totals USING (period) GROUP BY totals.id, bucket
), latencies AS (${percentiles}
)
SELECT 'total' AS part, period, NULL AS method, NULL AS route, NULL::int AS status, requests, p50, p90, p99, 0 AS place
FROM totals JOIN latencies USING (id)
UNION ALL
SELECT 'route', period, method, route, NULL, requests, p50, p90, p99, place FROM routes JOIN latencies USING (id) WHERE place <= $5
UNION ALL
SELECT 'status', period, NULL, NULL, status, sum(count)::bigint, NULL, NULL, NULL, status FROM selected GROUP BY period, status
ORDER BY period, place`

export const CLIENTS = `
WITH shown AS MATERIALIZED (
  SELECT row_number() OVER () AS id, * FROM (
    SELECT *, row_number() OVER (PARTITION BY period ORDER BY requests DESC, client_id) AS place
    FROM (
      SELECT ${periodOf} AS period, client_id, sum(count)::bigint AS requests
      FROM client_metrics WHERE ($1 = ${ALL_USERS} OR user_id = $1) AND day BETWEEN $2 AND $3 GROUP BY 1, 2
    ) AS summed
  ) AS placed WHERE place <= $5
), bucketed AS (
  SELECT id, bucket, sum(n)::bigint AS n
  FROM (
    SELECT id, unnest(buckets) AS bucket, unnest(counts) AS n
    FROM client_metrics JOIN shown ON shown.client_id = client_metrics.client_id AND period = ${periodOf}
    WHERE ($1 = ${ALL_USERS} OR user_id = $1) AND day BETWEEN $2 AND $3
  ) AS each
  GROUP BY id, bucket
), latencies AS (${percentiles}
)
SELECT period, client_id, requests, p50, p90, p99 FROM shown JOIN latencies USING (id) ORDER BY period, place`
