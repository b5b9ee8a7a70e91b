/** Must exceed the timeout of an attempt: after it another replica sends the delivery of one that died. */
const LEASE_SECONDS = 20
/** At one endpoint at the same time, by all replicas; one while it fails. */
const MAX_PER_ENDPOINT = 4
/** Between two attempts at an endpoint that fails, of any delivery. The delay doubles up to it. */
const MAX_PAUSE_SECONDS = 60
const PREVIOUS_SECRET_VALID = "interval '1 day'"

/**
 * $1 maximum. Of each endpoint, the lock lets one replica at a time choose. A delivery is due when no earlier one of its endpoint and
 * subject is pending. Deliveries of endpoints with the fewest open attempts come first, so that slow endpoints delay no others.
 * Postgres checks the row again in the UPDATE, so one of two replicas claims it.
 */
export const CLAIM = `
WITH RECURSIVE waiting (endpoint_id) AS (
  (SELECT endpoint_id FROM webhook_deliveries WHERE state = 'pending' ORDER BY endpoint_id LIMIT 1)
  UNION ALL
  SELECT (
    SELECT next.endpoint_id FROM webhook_deliveries AS next
    WHERE next.state = 'pending' AND next.endpoint_id > waiting.endpoint_id ORDER BY next.endpoint_id LIMIT 1)
  FROM waiting WHERE waiting.endpoint_id IS NOT NULL
), ready AS MATERIALIZED (
  SELECT id, url, failures, ARRAY[secret] || CASE WHEN secret_rotated_at > now() - ${PREVIOUS_SECRET_VALID}
      THEN array_remove(ARRAY[previous_secret], NULL) ELSE '{}' END AS secrets
  FROM webhook_endpoints
  WHERE id = ANY (ARRAY(SELECT endpoint_id FROM waiting)) AND active AND deleted_at IS NULL
    AND (retry_at IS NULL OR retry_at <= now())
  FOR NO KEY UPDATE SKIP LOCKED
), chosen AS MATERIALIZED (
  SELECT due.id FROM ready
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS open FROM webhook_deliveries AS leased
      WHERE leased.endpoint_id = ready.id AND leased.state = 'pending' AND leased.leased_until > now()
    ) AS busy
    CROSS JOIN LATERAL (
      SELECT first.id, first.next_attempt_at, row_number() OVER (ORDER BY first.next_attempt_at, first.id) AS place FROM (
        SELECT one.id, one.next_attempt_at FROM webhook_deliveries AS one
        WHERE one.endpoint_id = ready.id AND one.state = 'pending' AND one.next_attempt_at <= now()
          AND NOT EXISTS (
            SELECT FROM webhook_deliveries AS earlier
            WHERE earlier.endpoint_id = one.endpoint_id AND earlier.subject = one.subject AND earlier.state = 'pending'
              AND earlier.id < one.id)
        ORDER BY one.next_attempt_at, one.id
        LIMIT greatest(0, CASE WHEN ready.failures > 0 THEN 1 ELSE ${MAX_PER_ENDPOINT} END - busy.open)
      ) AS first
    ) AS due
  ORDER BY busy.open + due.place, due.next_attempt_at LIMIT $1
)
UPDATE webhook_deliveries AS claimed
SET attempts = attempts + 1, next_attempt_at = now() + interval '${LEASE_SECONDS} seconds',
  leased_until = now() + interval '${LEASE_SECONDS} seconds'
FROM ready, webhook_events AS event
WHERE claimed.id = ANY (ARRAY(SELECT id FROM chosen)) AND claimed.state = 'pending' AND claimed.next_attempt_at <= now()
  AND ready.id = claimed.endpoint_id AND event.id = claimed.event_id
RETURNING claimed.id, claimed.attempts AS attempt, claimed.endpoint_id AS "endpointId", ready.url, ready.secrets,
  event.message_id AS "messageId", event.type, event.data::text AS data, event.created_at AS "createdAt",
  (extract(epoch FROM clock_timestamp() - claimed.started_at) * 1000)::float8 AS "elapsedMs"`

/** $1 delivery, $2 attempt, $3 its duration, $4 status, $5 error. */
const LOGGED = `
  INSERT INTO webhook_attempts (delivery_id, at, duration_ms, status, error)
  SELECT id, now() - $3::int * interval '1 millisecond', $3::int, $4::int, $5 FROM webhook_deliveries WHERE id = $1`

/** Also of an attempt whose lease has ended: the endpoint has the event. */
export const RECORD_SUCCESS = `
WITH logged AS (${LOGGED}), delivered AS (
  UPDATE webhook_deliveries SET state = 'delivered', ended_at = now(), leased_until = NULL, last_status = $4, last_error = NULL
  WHERE id = $1 AND state = 'pending' AND attempts >= $2 RETURNING endpoint_id
)
UPDATE webhook_endpoints SET failures = 0, failing_since = NULL, retry_at = NULL
WHERE id = (SELECT endpoint_id FROM delivered) AND failures > 0`

/**
 * $6 milliseconds to the next attempt, null to give up. Later deliveries of the same subject become due with it. Several failures at
 * the same time lengthen the pause of the endpoint once.
 */
export const RECORD_FAILURE = `
WITH logged AS (${LOGGED}), failed AS (
  UPDATE webhook_deliveries
  SET state = CASE WHEN $6::float8 IS NULL THEN 'failed' ELSE 'pending' END, ended_at = CASE WHEN $6::float8 IS NULL THEN now() END,
    next_attempt_at = now() + coalesce($6::float8, 0) * interval '1 millisecond', leased_until = NULL, last_status = $4, last_error = $5
  WHERE id = $1 AND state = 'pending' AND attempts = $2
  RETURNING id, endpoint_id, subject, state, next_attempt_at
), put_off AS (
  UPDATE webhook_deliveries AS later SET next_attempt_at = greatest(later.next_attempt_at, failed.next_attempt_at)
  FROM failed
  WHERE failed.state = 'pending' AND later.endpoint_id = failed.endpoint_id AND later.subject = failed.subject
    AND later.state = 'pending' AND later.id > failed.id AND later.leased_until IS NULL
)
UPDATE webhook_endpoints
SET failures = failures + 1, failing_since = coalesce(failing_since, now()),
  retry_at = now() + make_interval(secs => least(${MAX_PAUSE_SECONDS}, 2 ^ least(failures, 10)))
WHERE id = (SELECT endpoint_id FROM failed) AND (retry_at IS NULL OR retry_at <= now())`

/** Of an attempt that a shutdown interrupted. */
export const RELEASE = `
UPDATE webhook_deliveries SET next_attempt_at = now(), leased_until = NULL
WHERE id = $1 AND state = 'pending' AND attempts = $2`

/** $1 maximum. Of deliveries whose endpoint was inactive, or failed so often that their turn did not come. */
export const EXPIRE = `
UPDATE webhook_deliveries SET state = 'failed', ended_at = now(), leased_until = NULL,
  last_error = coalesce(last_error, 'not sent within three days: the endpoint was inactive or failed')
WHERE id IN (
  SELECT id FROM webhook_deliveries
  WHERE state = 'pending' AND started_at < now() - interval '3 days 1 hour' AND (leased_until IS NULL OR leased_until < now())
  ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)`

export const FORGET_PREVIOUS_SECRETS = `
UPDATE webhook_endpoints SET previous_secret = NULL
WHERE previous_secret IS NOT NULL AND secret_rotated_at < now() - ${PREVIOUS_SECRET_VALID}`

export const BACKLOG = `
SELECT count(*) AS pending, coalesce(extract(epoch FROM now() - min(started_at)), 0)::float8 AS "oldestSeconds"
FROM webhook_deliveries WHERE state = 'pending'`
