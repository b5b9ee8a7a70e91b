/** Must exceed the timeout of an attempt: after it another replica sends the delivery of one that died. */
const LEASE_SECONDS = 20
/** At one endpoint at the same time, by all replicas; one while it fails. */
const MAX_PER_ENDPOINT = 4
/** At the endpoints of one owner at the same time, by all replicas; beyond it, one at each endpoint where none is open. */
const MAX_PER_OWNER = 8
/** Of a replica's attempts, those that only owners get who have none open. */
const RESERVED = 16
/** Due deliveries of an endpoint that one claim looks at. */
const MAX_SEEN = 200
/** Between two attempts at an endpoint that fails, of any delivery. The delay doubles up to it. */
const MAX_PAUSE_SECONDS = 60
const PREVIOUS_SECRET_VALID = "interval '1 day'"
/** Attempts of a delivery that its log keeps. */
const MAX_LOGGED = 100
/** Pending deliveries of an endpoint that the backlog counts. */
const MAX_COUNTED = 1_000

/**
 * For the transaction of each statement here that asks for an order. One index of those has it, and Postgres must not sort what another
 * index finds instead, because statistics say that few rows are pending: they are of a time when none was.
 */
export const PLAN_BY_INDEX = [
  'enable_sort',
  'enable_incremental_sort',
  'enable_seqscan',
  'enable_bitmapscan',
  'jit',
]
  .map((name) => `SET LOCAL ${name} = off`)
  .join('; ')

/** Endpoints with pending deliveries, and when the earliest is due: one look into an index for each. */
const WAITING = `waiting (endpoint_id, first_at) AS (
  (SELECT endpoint_id, next_attempt_at FROM webhook_deliveries WHERE state = 'pending'
   ORDER BY endpoint_id, next_attempt_at, id LIMIT 1)
  UNION ALL
  SELECT next.endpoint_id, next.next_attempt_at FROM waiting CROSS JOIN LATERAL (
    SELECT endpoint_id, next_attempt_at FROM webhook_deliveries AS other
    WHERE other.state = 'pending' AND other.endpoint_id > waiting.endpoint_id
    ORDER BY other.endpoint_id, other.next_attempt_at, other.id LIMIT 1) AS next
)`

/** For statements that name ids: "state = 'pending'" would let Postgres look through an index of all pending deliveries for them. */
const IS_PENDING = "state NOT IN ('delivered', 'failed')"

const DUE = `
      SELECT one.id, one.endpoint_id, one.subject, one.next_attempt_at FROM webhook_deliveries AS one
      WHERE one.endpoint_id = free.id AND one.state = 'pending' AND one.next_attempt_at <= now()
      ORDER BY one.next_attempt_at, one.id LIMIT ${MAX_SEEN}`

/** Whether an earlier delivery of the endpoint and subject is pending: one look into an index. A subquery with a limit becomes no join. */
const IS_BEHIND = `coalesce((
        SELECT earlier.endpoint_id = due.endpoint_id AND earlier.subject = due.subject FROM webhook_deliveries AS earlier
        WHERE earlier.state = 'pending' AND (earlier.endpoint_id, earlier.subject, earlier.id) < (due.endpoint_id, due.subject, due.id)
        ORDER BY earlier.endpoint_id DESC, earlier.subject DESC, earlier.id DESC LIMIT 1), false)`

/**
 * $1 maximum. Of each endpoint, the lock lets one replica at a time choose. A delivery is due when no earlier one of its endpoint and
 * subject is pending. Those that are behind another one are put off, for as long as they have waited, so that no claim looks at them
 * again and again; the end of the other one makes them due (WAKE_NEXT). Owners without an open attempt come first, the one that was
 * served longest ago before the others: slow endpoints delay no other owner.
 */
export const CLAIM = `
WITH RECURSIVE ${WAITING}, ready AS MATERIALIZED (
  SELECT id, owner, url, failures, ARRAY[secret] || CASE WHEN secret_rotated_at > now() - ${PREVIOUS_SECRET_VALID}
      THEN array_remove(ARRAY[previous_secret], NULL) ELSE '{}' END AS secrets
  FROM webhook_endpoints
  WHERE id = ANY (ARRAY(SELECT endpoint_id FROM waiting WHERE first_at <= now())) AND active AND deleted_at IS NULL
    AND (retry_at IS NULL OR retry_at <= now()) AND NOT is_webhook_owner_disabled(owner)
  FOR NO KEY UPDATE SKIP LOCKED
), busy AS MATERIALIZED (
  SELECT leased.endpoint_id, endpoint.owner, count(*)::int AS open
  FROM (
    SELECT one.endpoint_id FROM webhook_deliveries AS one WHERE one.state = 'pending' AND one.leased_until > now()
    ORDER BY one.leased_until
  ) AS leased JOIN webhook_endpoints AS endpoint ON endpoint.id = leased.endpoint_id
  GROUP BY leased.endpoint_id, endpoint.owner
), free AS MATERIALIZED (
  SELECT ready.id, ready.owner, coalesce(busy.open, 0) AS open,
    greatest(0, CASE WHEN ready.failures > 0 THEN 1 ELSE ${MAX_PER_ENDPOINT} END - coalesce(busy.open, 0)) AS slots
  FROM ready LEFT JOIN busy ON busy.endpoint_id = ready.id
), first AS MATERIALIZED (
  SELECT one.id, free.id AS endpoint_id, free.owner, one.next_attempt_at,
    free.open + row_number() OVER (PARTITION BY free.id ORDER BY one.next_attempt_at, one.id) AS place
  FROM free CROSS JOIN LATERAL (
    SELECT due.id, due.next_attempt_at FROM (${DUE}) AS due WHERE NOT ${IS_BEHIND}
    ORDER BY due.next_attempt_at, due.id LIMIT free.slots) AS one
), owners AS MATERIALIZED (
  SELECT owner, coalesce(own.open, 0) AS open, (
      SELECT max(served_at) FROM webhook_endpoints AS endpoint WHERE endpoint.owner = one.owner AND endpoint.deleted_at IS NULL
    ) AS served_at
  FROM (SELECT DISTINCT owner FROM first) AS one LEFT JOIN (SELECT owner, sum(open) AS open FROM busy GROUP BY owner) AS own USING (owner)
), turns AS (
  SELECT first.id, first.next_attempt_at, place, owners.served_at,
    owners.open + row_number() OVER (PARTITION BY owner ORDER BY place, first.next_attempt_at, first.id) AS turn
  FROM first JOIN owners USING (owner)
), ranked AS (
  SELECT id, turn, row_number() OVER (ORDER BY turn, served_at, next_attempt_at, id) AS rank
  FROM turns WHERE turn <= ${MAX_PER_OWNER} OR place = 1
), chosen AS MATERIALIZED (
  SELECT id FROM webhook_deliveries
  WHERE id = ANY (ARRAY(SELECT id FROM ranked WHERE rank <= $1 AND (turn = 1 OR rank <= $1 - ${RESERVED})))
    AND ${IS_PENDING} AND next_attempt_at <= now()
  FOR NO KEY UPDATE SKIP LOCKED
), hungry AS MATERIALIZED (
  SELECT free.id FROM free LEFT JOIN (SELECT endpoint_id, count(*) AS found FROM first GROUP BY endpoint_id) AS own
    ON own.endpoint_id = free.id
  WHERE coalesce(found, 0) < slots
), behind AS MATERIALIZED (
  SELECT late.id FROM hungry AS free
    CROSS JOIN LATERAL (SELECT due.id, due.next_attempt_at FROM (${DUE}) AS due WHERE ${IS_BEHIND}) AS late
    CROSS JOIN LATERAL (
      SELECT FROM webhook_deliveries AS same
      WHERE same.id = late.id AND same.${IS_PENDING} AND same.next_attempt_at = late.next_attempt_at
      FOR NO KEY UPDATE SKIP LOCKED) AS locked
), put_off AS (
  UPDATE webhook_deliveries
  SET next_attempt_at = now() + least(greatest(now() - started_at, interval '30 seconds'), interval '1 hour')
  WHERE id = ANY (ARRAY(SELECT id FROM behind))
), claimed AS (
  UPDATE webhook_deliveries AS claimed
  SET attempts = attempts + 1, next_attempt_at = now() + interval '${LEASE_SECONDS} seconds',
    leased_until = now() + interval '${LEASE_SECONDS} seconds'
  FROM ready, webhook_events AS event
  WHERE claimed.id = ANY (ARRAY(SELECT id FROM chosen)) AND ready.id = claimed.endpoint_id AND event.id = claimed.event_id
  RETURNING claimed.id, claimed.attempts AS attempt, claimed.endpoint_id AS "endpointId", ready.url, ready.secrets,
    event.message_id AS "messageId", event.type, event.data::text AS data, event.created_at AS "createdAt",
    (extract(epoch FROM clock_timestamp() - claimed.started_at) * 1000)::float8 AS "elapsedMs"
), served AS (
  UPDATE webhook_endpoints SET served_at = now() WHERE id = ANY (ARRAY(SELECT "endpointId" FROM claimed))
)
SELECT * FROM claimed`

/** $1 delivery, $2 attempt, $3 its duration, $4 status, $5 error. */
const LOGGED = `
WITH logged AS (
  INSERT INTO webhook_attempts (delivery_id, at, duration_ms, status, error)
  SELECT id, now() - $3::int * interval '1 millisecond', $3::int, $4::int, $5 FROM webhook_deliveries WHERE id = $1
), trimmed AS (
  DELETE FROM webhook_attempts WHERE $2 >= ${MAX_LOGGED} AND delivery_id = $1 AND id < (
    SELECT min(id) FROM (
      SELECT id FROM webhook_attempts WHERE delivery_id = $1 ORDER BY id DESC LIMIT ${MAX_LOGGED - 1}) AS newest)
)`

/**
 * The next delivery of the subject of the one that `ended` is due before those behind it. The time is one that no claim has seen, so that
 * a claim that began earlier does not put it off.
 */
const WAKE_NEXT = (ended: string) => `
  UPDATE webhook_deliveries SET next_attempt_at = started_at - interval '1 second'
  WHERE ${IS_PENDING} AND (leased_until IS NULL OR leased_until <= now()) AND id = (
    SELECT next.id FROM ${ended} AS ended CROSS JOIN LATERAL (
      SELECT id, endpoint_id, subject FROM webhook_deliveries AS later
      WHERE later.state = 'pending'
        AND (later.endpoint_id, later.subject, later.id) > (ended.endpoint_id, ended.subject, ended.id)
      ORDER BY later.endpoint_id, later.subject, later.id LIMIT 1) AS next
    WHERE next.endpoint_id = ended.endpoint_id AND next.subject = ended.subject)`

/** Also of an attempt whose lease has ended: the endpoint has the event. */
export const RECORD_SUCCESS = `${LOGGED}, delivered AS (
  UPDATE webhook_deliveries SET state = 'delivered', ended_at = now(), leased_until = NULL, last_status = $4, last_error = NULL
  WHERE id = $1 AND ${IS_PENDING} AND attempts >= $2 RETURNING id, endpoint_id, subject
), woken AS (${WAKE_NEXT('delivered')})
UPDATE webhook_endpoints SET failures = 0, failing_since = NULL, retry_at = NULL
WHERE id = (SELECT endpoint_id FROM delivered) AND failures > 0`

/** $6 milliseconds to the next attempt, null to give up. Several failures at the same time lengthen the pause of the endpoint once. */
export const RECORD_FAILURE = `${LOGGED}, failed AS (
  UPDATE webhook_deliveries
  SET state = CASE WHEN $6::float8 IS NULL THEN 'failed' ELSE 'pending' END, ended_at = CASE WHEN $6::float8 IS NULL THEN now() END,
    next_attempt_at = now() + coalesce($6::float8, 0) * interval '1 millisecond', leased_until = NULL, last_status = $4, last_error = $5
  WHERE id = $1 AND ${IS_PENDING} AND attempts = $2
  RETURNING id, endpoint_id, subject, state
), woken AS (${WAKE_NEXT(`(SELECT * FROM failed WHERE state = 'failed')`)})
UPDATE webhook_endpoints
SET failures = failures + 1, failing_since = coalesce(failing_since, now()),
  retry_at = now() + make_interval(secs => least(${MAX_PAUSE_SECONDS}, 2 ^ least(failures, 10)))
WHERE id = (SELECT endpoint_id FROM failed) AND (retry_at IS NULL OR retry_at <= now())`

/** Of an attempt that a shutdown interrupted. */
export const RELEASE = `
UPDATE webhook_deliveries SET next_attempt_at = now(), leased_until = NULL
WHERE id = $1 AND ${IS_PENDING} AND attempts = $2`

/** $1 maximum. */
const endPending = (isOver: string, reason: string) => `
WITH RECURSIVE ${WAITING}, over AS MATERIALIZED (
  SELECT pending.id FROM waiting JOIN webhook_endpoints AS endpoint ON endpoint.id = waiting.endpoint_id
    CROSS JOIN LATERAL (
      SELECT one.id FROM webhook_deliveries AS one
      WHERE one.endpoint_id = endpoint.id AND one.state = 'pending' AND (one.leased_until IS NULL OR one.leased_until < now())
        AND ${isOver}
      ORDER BY one.started_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED) AS pending
  LIMIT $1
)
UPDATE webhook_deliveries SET state = 'failed', ended_at = now(), leased_until = NULL, last_error = coalesce(last_error, '${reason}')
WHERE id = ANY (ARRAY(SELECT id FROM over))`

/** Of deliveries whose endpoint was inactive, or failed so often that their turn did not come. */
export const EXPIRE = endPending(
  "one.started_at < now() - interval '3 days 1 hour'",
  'not sent within three days: the endpoint was inactive or failed',
)

export const END_DELETED = endPending('endpoint.deleted_at IS NOT NULL', 'the endpoint was deleted')

export const FORGET_PREVIOUS_SECRETS = `
UPDATE webhook_endpoints SET previous_secret = NULL
WHERE previous_secret IS NOT NULL AND secret_rotated_at < now() - ${PREVIOUS_SECRET_VALID}`

/** Of endpoints that get deliveries; at most MAX_COUNTED of each. */
export const BACKLOG = `
WITH RECURSIVE ${WAITING}
SELECT coalesce(sum(own.pending), 0)::bigint AS pending,
  coalesce(extract(epoch FROM now() - min(own.oldest)), 0)::float8 AS "oldestSeconds"
FROM waiting JOIN webhook_endpoints AS endpoint ON endpoint.id = waiting.endpoint_id
  CROSS JOIN LATERAL (
    SELECT count(*) AS pending, min(started_at) AS oldest FROM (
      SELECT one.started_at FROM webhook_deliveries AS one WHERE one.endpoint_id = endpoint.id AND one.state = 'pending'
      ORDER BY one.started_at LIMIT ${MAX_COUNTED}) AS counted) AS own
WHERE endpoint.active AND endpoint.deleted_at IS NULL AND NOT is_webhook_owner_disabled(endpoint.owner)`
