/** Endpoints of an owner. */
export const MAX_ENDPOINTS = 10
/** Endpoints that an owner makes within a day: deleted ones stay until their deliveries are deleted. */
export const MAX_CREATED = 100
/** Deliveries that an owner replays within an hour. */
export const MAX_REPLAYED = 10_000
/** Test events of an endpoint that are pending. */
export const MAX_TESTS = 10

const ENDPOINT = `id, url, events, description, threshold, active, created_at AS "createdAt", secret_rotated_at AS "secretRotatedAt",
  failing_since AS "failingSince", disabled_reason AS "disabledReason"`

/** Counts under a lock of the owner, so that concurrent requests cannot exceed the maximum. */
export const LOCK_OWNER = `SELECT pg_advisory_xact_lock(hashtextextended('webhooks ' || $1::text, 0))`

/** $1 owner. `seconds` until the oldest of them was made a day ago. */
export const CREATED_TODAY = `
SELECT count(*)::int AS created, ceil(extract(epoch FROM min(created_at) + interval '1 day' - now()))::int AS seconds FROM (
  SELECT created_at FROM webhook_endpoints WHERE owner = $1 AND deleted_at IS NULL AND created_at > now() - interval '1 day'
  UNION ALL
  SELECT created_at FROM webhook_endpoints WHERE owner = $1 AND deleted_at IS NOT NULL AND created_at > now() - interval '1 day'
) AS today`

/** $1 owner, $2 id, $3 URL, $4 events, $5 description, $6 threshold, $7 secret. */
export const CREATE = `
INSERT INTO webhook_endpoints (owner, id, url, events, description, threshold, secret, has_paid)
SELECT $1, $2::uuid, $3, $4::text[], $5, $6::bigint, $7, has_webhook_owner_paid($1)
WHERE (SELECT count(*) FROM webhook_endpoints WHERE owner = $1 AND deleted_at IS NULL) < ${MAX_ENDPOINTS}
RETURNING ${ENDPOINT}`

export const LIST = `
SELECT ${ENDPOINT} FROM webhook_endpoints WHERE owner = $1 AND deleted_at IS NULL ORDER BY created_at, id`

const IS_OWN = 'id = $1::uuid AND owner = $2 AND deleted_at IS NULL'

export const FIND = `SELECT ${ENDPOINT} FROM webhook_endpoints WHERE ${IS_OWN}`

/** $1 id, $2 owner, then the members that change; null keeps one. $7 whether the threshold changes. An endpoint is tried at once. */
export const UPDATE = `
UPDATE webhook_endpoints SET url = coalesce($3, url), events = coalesce($4::text[], events), description = coalesce($5, description),
  active = coalesce($6::boolean, active),
  disabled_reason = CASE WHEN NOT coalesce($6::boolean, active) THEN disabled_reason END, is_slow = CASE WHEN $3 IS NULL THEN is_slow END, threshold = CASE WHEN $7::boolean THEN $8::bigint ELSE threshold END, retry_at = NULL
WHERE ${IS_OWN} RETURNING ${ENDPOINT}`

const DELETED = `deleted_at = now(), active = false, secret = '', previous_secret = NULL, url = '', description = ''`

/** None of its deliveries begins after it; the workers end them (END_DELETED). */
export const DELETE = `UPDATE webhook_endpoints SET ${DELETED} WHERE ${IS_OWN}`

/** $1 owner. */
export const DELETE_ALL = `
WITH replays AS (DELETE FROM webhook_replays WHERE owner = $1)
UPDATE webhook_endpoints SET ${DELETED} WHERE owner = $1 AND deleted_at IS NULL`

export const ROTATE = `
UPDATE webhook_endpoints SET previous_secret = secret, secret = $3, secret_rotated_at = now() WHERE ${IS_OWN} RETURNING ${ENDPOINT}`

const DELIVERY = `delivery.id, event.message_id AS "messageId", event.type, delivery.subject, delivery.state, delivery.attempts,
  CASE delivery.state WHEN 'pending' THEN delivery.next_attempt_at END AS "nextAttemptAt", event.created_at AS "createdAt",
  CASE delivery.state WHEN 'delivered' THEN delivery.ended_at END AS "deliveredAt", delivery.last_status AS "lastStatus",
  delivery.last_error AS "lastError"`
const OF_OWN = `delivery.endpoint_id = (SELECT id FROM webhook_endpoints WHERE ${IS_OWN})`

/** $3 only below this id, or null, $4 state, or null, $5 limit. Newest first. */
export const DELIVERIES = `
SELECT ${DELIVERY} FROM webhook_deliveries AS delivery JOIN webhook_events AS event ON event.id = delivery.event_id
WHERE ${OF_OWN} AND ($3::bigint IS NULL OR delivery.id < $3) AND ($4::text IS NULL OR delivery.state = $4)
ORDER BY delivery.id DESC LIMIT $5`

/** $3 id. */
export const DETAIL = `
SELECT ${DELIVERY}, json_build_object('type', event.type, 'timestamp', iso_time(event.created_at), 'data', event.data) AS payload,
  coalesce((
    SELECT json_agg(json_build_object('at', iso_time(at), 'durationMs', duration_ms, 'status', status, 'error', error))
    FROM (SELECT * FROM webhook_attempts WHERE delivery_id = delivery.id ORDER BY id DESC LIMIT 100) AS newest), '[]') AS log
FROM webhook_deliveries AS delivery JOIN webhook_events AS event ON event.id = delivery.event_id
WHERE ${OF_OWN} AND delivery.id = $3`

const PENDING_AGAIN = `state = 'pending', started_at = now(), ended_at = NULL,
  next_attempt_at = CASE WHEN leased_until > now() THEN next_attempt_at ELSE now() END`

/** $1 owner. How many deliveries it may replay now, under a lock of the owner, and `seconds` until it may replay MAX_REPLAYED. */
export const REPLAYS_LEFT = `
INSERT INTO webhook_replays AS used (owner) VALUES ($1)
ON CONFLICT (owner) DO UPDATE SET
  since = CASE WHEN used.since <= now() - interval '1 hour' THEN now() ELSE used.since END,
  deliveries = CASE WHEN used.since <= now() - interval '1 hour' THEN 0 ELSE used.deliveries END
RETURNING ${MAX_REPLAYED} - deliveries AS "left", ceil(extract(epoch FROM since + interval '1 hour' - now()))::int AS seconds`

/** $1 owner, $2 how many more. */
export const COUNT_REPLAYS = 'UPDATE webhook_replays SET deliveries = deliveries + $2 WHERE owner = $1'

/** $3 id. A pending delivery is due now. */
export const REPLAY = `
WITH delivery AS (
  UPDATE webhook_deliveries AS delivery SET ${PENDING_AGAIN} WHERE ${OF_OWN} AND id = $3 RETURNING *
)
SELECT ${DELIVERY} FROM delivery JOIN webhook_events AS event ON event.id = delivery.event_id`

/** $3 and $4 the range of the events, $5 state, or null for any that has ended, $6 maximum. Oldest first. Locks in the order of ids. */
export const REPLAY_RANGE = `
WITH chosen AS MATERIALIZED (
  SELECT delivery.id, event.created_at FROM webhook_deliveries AS delivery JOIN webhook_events AS event ON event.id = delivery.event_id
  WHERE ${OF_OWN} AND event.created_at >= $3 AND event.created_at < $4
    AND CASE WHEN $5::text IS NULL THEN delivery.state <> 'pending' ELSE delivery.state = $5 END
  ORDER BY delivery.id LIMIT $6 FOR NO KEY UPDATE OF delivery
), replayed AS (
  UPDATE webhook_deliveries SET ${PENDING_AGAIN} WHERE id IN (SELECT id FROM chosen)
)
SELECT count(*)::int AS replayed, max(created_at) AS until FROM chosen`

/** $1 id of an endpoint. */
export const PENDING_TESTS = `
SELECT FROM webhook_deliveries WHERE endpoint_id = $1 AND state = 'pending' AND starts_with(subject, 'msg_') LIMIT ${MAX_TESTS}`

/** $1 id, $2 owner, $3 message id. */
export const TEST = `
WITH endpoint AS (
  SELECT id FROM webhook_endpoints WHERE ${IS_OWN}
), event AS (
  INSERT INTO webhook_events (message_id, type, subject, data)
  SELECT $3, 'webhook.test', $3, json_build_object('endpoint', id) FROM endpoint RETURNING *
), delivery AS (
  INSERT INTO webhook_deliveries (event_id, endpoint_id, subject) SELECT event.id, endpoint.id, event.subject FROM event, endpoint
  RETURNING *
)
SELECT ${DELIVERY} FROM delivery, event`
