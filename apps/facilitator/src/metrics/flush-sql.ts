import { type PoolClient } from '@tollgate/database'
import { type MetricsBuffer } from './metrics-buffer'

const mergedHistograms = `(
  SELECT array_agg(bucket ORDER BY bucket), array_agg(n ORDER BY bucket) FROM (
    SELECT bucket, sum(n)::bigint AS n FROM (
      SELECT * FROM unnest(stored.buckets, stored.counts) UNION ALL SELECT * FROM unnest(EXCLUDED.buckets, EXCLUDED.counts)
    ) AS both_of (bucket, n) GROUP BY bucket
  ) AS summed)`

/** Returns a row only the first time that a replica's flush number is stored. */
const RECORD_FLUSH = `
INSERT INTO metric_flushes (replica, number, at) VALUES ($1, $2, now())
ON CONFLICT (replica) DO UPDATE SET number = EXCLUDED.number, at = EXCLUDED.at
  WHERE metric_flushes.number < EXCLUDED.number
RETURNING number`

/** The statements write rows in the order of their keys, so that concurrent flushes cannot deadlock. */
const ADD_HTTP = `
INSERT INTO http_metrics AS stored (user_id, day, method, route, status, count, buckets, counts)
SELECT user_id, day, method, route, status, count, buckets::smallint[], counts::bigint[]
FROM unnest($1::int[], $2::date[], $3::text[], $4::text[], $5::int[], $6::bigint[], $7::text[], $8::text[])
  AS added (user_id, day, method, route, status, count, buckets, counts)
ORDER BY user_id, day, method, route, status
ON CONFLICT (user_id, day, method, route, status) DO UPDATE
  SET count = stored.count + EXCLUDED.count, (buckets, counts) = ${mergedHistograms}`

const ADD_CLIENTS = `
INSERT INTO client_metrics AS stored (user_id, day, client_id, count, buckets, counts)
SELECT user_id, day, client_id, count, buckets::smallint[], counts::bigint[]
FROM unnest($1::int[], $2::date[], $3::text[], $4::bigint[], $5::text[], $6::text[])
  AS added (user_id, day, client_id, count, buckets, counts)
ORDER BY user_id, day, client_id
ON CONFLICT (user_id, day, client_id) DO UPDATE
  SET count = stored.count + EXCLUDED.count, (buckets, counts) = ${mergedHistograms}`

const ADD_REFUSALS = `
INSERT INTO settlement_refusals AS stored (client_id, day, network, reason, count)
SELECT client_id, day, network, reason, count
FROM unnest($1::text[], $2::date[], $3::text[], $4::text[], $5::bigint[])
  AS added (client_id, day, network, reason, count)
ORDER BY client_id, day, network, reason
ON CONFLICT (client_id, day, network, reason) DO UPDATE SET count = stored.count + EXCLUDED.count`

/** A stalled replica must not keep the locks on rows that all replicas write. */
const LIMIT_STALLS = `SET LOCAL idle_in_transaction_session_timeout = '2s'`

/** Deletes the flush numbers of replicas that were killed. */
export const FORGET_STOPPED_REPLICAS = `DELETE FROM metric_flushes WHERE at < now() - INTERVAL '7 days'`
export const FORGET_REPLICA = 'DELETE FROM metric_flushes WHERE replica = $1'

/** Must run in a transaction. Idempotent: a flush number that is stored already adds nothing. */
export async function flushMetrics(
  client: Pick<PoolClient, 'query'>,
  { replica, number, counts }: { replica: string; number: number; counts: MetricsBuffer },
): Promise<void> {
  await client.query(LIMIT_STALLS)
  const { rowCount } = await client.query(RECORD_FLUSH, [replica, number])
  if (rowCount === 0) return
  const [http, clients, refusals] = [counts.http(), counts.clients(), counts.refusals()]
  await client.query(ADD_HTTP, [
    ...columns(http, ['userId', 'day', 'method', 'route', 'status', 'count']),
    ...histograms(http),
  ])
  await client.query(ADD_CLIENTS, [
    ...columns(clients, ['userId', 'day', 'clientId', 'count']),
    ...histograms(clients),
  ])
  await client.query(ADD_REFUSALS, columns(refusals, ['clientId', 'day', 'network', 'reason', 'count']))
}

const columns = <Row>(rows: readonly Row[], names: readonly (keyof Row)[]): unknown[][] =>
  names.map((name) => rows.map((row) => row[name]))

/** Sent as text: Postgres would flatten an array of arrays. */
const histograms = (counts: readonly { latencies: ReadonlyMap<number, number> }[]): unknown[][] => [
  counts.map(({ latencies }) => `{${[...latencies.keys()].join()}}`),
  counts.map(({ latencies }) => `{${[...latencies.values()].join()}}`),
]
