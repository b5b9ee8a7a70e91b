import { IS_PENDING, PREVIOUS_SECRET_VALID, WAITING } from './pending-sql'

/** Between two attempts at an endpoint that fails, of any delivery. The delay doubles up to it. */
const MAX_PAUSE_SECONDS = 60
/** Attempts of a delivery that its log keeps. */
const MAX_LOGGED = 100
/** An attempt that takes longer is slow. */
const SLOW_MS = 2_000
/** Pending deliveries of an endpoint that the backlog counts. */
const MAX_COUNTED = 1_000

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

/** Not if the owner has changed the URL since. */
const IS_GONE = '($4::int IS NOT DISTINCT FROM 410 AND url = $8)'

const SPEED_AND_STANDING = (provesPayment: string) =>
  `is_slow = $3::int > ${SLOW_MS}, has_paid = has_paid OR ${provesPayment}::boolean`

/** Counts an attempt whose lease has ended too: the endpoint has the event. $6 whether the event proves that the owner has paid. */
export const RECORD_SUCCESS = `${LOGGED}, delivered AS (
  UPDATE webhook_deliveries SET state = 'delivered', ended_at = now(), leased_until = NULL, last_status = $4, last_error = NULL
  WHERE id = $1 AND ${IS_PENDING} AND attempts >= $2 RETURNING id, endpoint_id, subject
), woken AS (${WAKE_NEXT('delivered')})
UPDATE webhook_endpoints SET failures = 0, failing_since = NULL, retry_at = NULL, ${SPEED_AND_STANDING('$6')}
WHERE id = (SELECT endpoint_id FROM delivered)
  AND (failures > 0 OR is_slow IS DISTINCT FROM ($3::int > ${SLOW_MS}) OR ($6::boolean AND NOT has_paid))`

/**
 * $6 milliseconds to the next attempt, null to give up, $7 whether the event proves that the owner has paid, $8 the URL. Several failures at
 * the same time lengthen the pause of the endpoint once. An endpoint that is gone gets nothing more, until its owner changes that.
 */
export const RECORD_FAILURE = `${LOGGED}, failed AS (
  UPDATE webhook_deliveries
  SET state = CASE WHEN $6::float8 IS NULL THEN 'failed' ELSE 'pending' END, ended_at = CASE WHEN $6::float8 IS NULL THEN now() END,
    next_attempt_at = now() + coalesce($6::float8, 0) * interval '1 millisecond', leased_until = NULL, last_status = $4, last_error = $5
  WHERE id = $1 AND ${IS_PENDING} AND attempts = $2
  RETURNING id, endpoint_id, subject, state
), woken AS (${WAKE_NEXT(`(SELECT * FROM failed WHERE state = 'failed')`)})
UPDATE webhook_endpoints
SET failures = failures + 1, failing_since = coalesce(failing_since, now()),
  retry_at = now() + make_interval(secs => least(${MAX_PAUSE_SECONDS}, 2 ^ least(failures, 10))), ${SPEED_AND_STANDING('$7')},
  active = active AND NOT ${IS_GONE}, disabled_reason = CASE WHEN active AND ${IS_GONE} THEN 'the endpoint answered 410 Gone' ELSE disabled_reason END
WHERE id = (SELECT endpoint_id FROM failed) AND (${IS_GONE} OR retry_at IS NULL OR retry_at <= now())`

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
