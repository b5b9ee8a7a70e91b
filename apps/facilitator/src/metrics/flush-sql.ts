import { type Counts } from './counts'

/** Adds one histogram to another, bucket by bucket. */
const merged = (stored: string) => `(
  SELECT array_agg(bucket ORDER BY bucket), array_agg(n ORDER BY bucket) FROM (
    SELECT bucket, sum(n)::bigint AS n FROM (
      SELECT * FROM unnest(${stored}.buckets, ${stored}.counts) UNION ALL SELECT * FROM unnest(excluded.buckets, excluded.counts)
    ) AS both_of (bucket, n) GROUP BY bucket
  ) AS summed)`

/**
 * Adds what a replica ($1) counted to what is stored, in one commit: as its flush $2, of which each number is added once,
 * however often it is sent. Rows are written in the order of their keys, so that replicas wait for one another and never in
 * a circle.
 */
const FLUSH = `
WITH flush AS (
  INSERT INTO metric_flushes (replica, number, at) VALUES ($1, $2, now())
  ON CONFLICT (replica) DO UPDATE SET number = excluded.number, at = excluded.at
    WHERE metric_flushes.number < excluded.number
  RETURNING number
), http AS (
  INSERT INTO http_metrics AS stored (user_id, day, method, route, status, count, buckets, counts)
  SELECT user_id, day, method, route, status, count, buckets::smallint[], counts::bigint[]
  FROM flush, unnest($3::int[], $4::date[], $5::text[], $6::text[], $7::int[], $8::bigint[], $9::text[], $10::text[])
    AS asked (user_id, day, method, route, status, count, buckets, counts)
  ORDER BY user_id, day, method, route, status
  ON CONFLICT (user_id, day, method, route, status) DO UPDATE
    SET count = stored.count + excluded.count, (buckets, counts) = ${merged('stored')}
), clients AS (
  INSERT INTO client_metrics AS stored (user_id, day, client_id, count, buckets, counts)
  SELECT user_id, day, client_id, count, buckets::smallint[], counts::bigint[]
  FROM flush, unnest($11::int[], $12::date[], $13::text[], $14::bigint[], $15::text[], $16::text[])
    AS asked (user_id, day, client_id, count, buckets, counts)
  ORDER BY user_id, day, client_id
  ON CONFLICT (user_id, day, client_id) DO UPDATE
    SET count = stored.count + excluded.count, (buckets, counts) = ${merged('stored')}
), refusals AS (
  INSERT INTO settlement_refusals AS stored (client_id, day, network, reason, count)
  SELECT client_id, day, network, reason, count
  FROM flush, unnest($17::text[], $18::date[], $19::text[], $20::text[], $21::bigint[])
    AS asked (client_id, day, network, reason, count)
  ORDER BY client_id, day, network, reason
  ON CONFLICT (client_id, day, network, reason) DO UPDATE SET count = stored.count + excluded.count
)
SELECT count(*) FROM flush`

export const flushOf = (replica: string, number: number, counts: Counts) => ({
  name: 'metrics-flush',
  text: FLUSH,
  values: [replica, number, ...valuesOf(counts)],
})

/** Those of replicas that stopped long ago without a farewell. */
export const FORGET_REPLICAS = `DELETE FROM metric_flushes WHERE at < now() - interval '7 days'`
export const FORGET_REPLICA = 'DELETE FROM metric_flushes WHERE replica = $1'

/** $3 to $21, in the order of the statement. */
function valuesOf(counts: Counts): unknown[][] {
  const [http, clients, refusals] = [counts.http(), counts.clients(), counts.refusals()]
  return [
    ...columns(http, ['userId', 'day', 'method', 'route', 'status', 'count']),
    ...histograms(http),
    ...columns(clients, ['userId', 'day', 'clientId', 'count']),
    ...histograms(clients),
    ...columns(refusals, ['clientId', 'day', 'network', 'reason', 'count']),
  ]
}

const columns = <Row>(rows: readonly Row[], names: readonly (keyof Row)[]): unknown[][] =>
  names.map((name) => rows.map((row) => row[name]))

/** Postgres would read an array of arrays as one array: each histogram is sent as the text of its arrays. */
const histograms = (counted: readonly { latencies: ReadonlyMap<number, number> }[]): unknown[][] => [
  counted.map(({ latencies }) => `{${[...latencies.keys()].join()}}`),
  counted.map(({ latencies }) => `{${[...latencies.values()].join()}}`),
]
