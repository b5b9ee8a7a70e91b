import { IS_PENDING, PREVIOUS_SECRET_VALID, WAITING } from './pending-sql'

/** Must exceed the timeout of an attempt: after it another replica sends the delivery of one that died. */
const LEASE_SECONDS = 20
/** All replicas together have this many attempts open at one endpoint, and one while it fails. */
const MAX_PER_ENDPOINT = 4
/** All replicas together have this many open at the endpoints of one owner; beyond it, one at each endpoint where none is open. */
const MAX_PER_OWNER = 8
/** All replicas together have this many open at endpoints of owners that never paid. */
const MAX_NEW = 32
/** The same holds for endpoints whose last attempt was slow, or that had none. */
const MAX_SLOW = 32
/** A replica keeps this many attempts for owners that have none open. */
const RESERVED = 16
/** Due deliveries of an endpoint that one claim looks at. */
const MAX_SEEN = 200
/** The lower number is served first. */
const [QUICK, SLOW, NEW] = [0, 1, 2]
const shareOf = (hasPaid: string, isSlow: string) =>
  `CASE WHEN NOT ${hasPaid} THEN ${NEW} WHEN ${isSlow} IS FALSE THEN ${QUICK} ELSE ${SLOW} END`
const ORDER = 'slowness, turn, served_at, next_attempt_at, id'

const DUE = `
      SELECT one.id, one.endpoint_id, one.event_id, one.subject, one.next_attempt_at FROM webhook_deliveries AS one
      WHERE one.endpoint_id = free.id AND one.state = 'pending' AND one.next_attempt_at <= now()
      ORDER BY one.next_attempt_at, one.id LIMIT ${MAX_SEEN}`

/** Whether an earlier delivery of the endpoint and subject is pending: one look into an index. A subquery with a limit becomes no join. */
const IS_BEHIND = `coalesce((
        SELECT earlier.endpoint_id = due.endpoint_id AND earlier.subject = due.subject FROM webhook_deliveries AS earlier
        WHERE earlier.state = 'pending' AND (earlier.endpoint_id, earlier.subject, earlier.id) < (due.endpoint_id, due.subject, due.id)
        ORDER BY earlier.endpoint_id DESC, earlier.subject DESC, earlier.id DESC LIMIT 1), false)`

/**
 * $1 maximum, $2 types of events that prove that their owner has paid. Of each endpoint, the lock lets one replica at a time choose. A delivery is due when no earlier one of its endpoint and
 * subject is pending. Those that are behind another one are put off, for as long as they have waited, so that no claim looks at them
 * again and again; the end of the other one makes them due (WAKE_NEXT).
 *
 * Endpoints that were quick come first. The others have a share: those that were slow or had no attempt yet, and, however quick, those of
 * owners that never paid. Within a share owners without an open attempt come first, the one that was served longest ago before the others.
 */
export const CLAIM = `
WITH RECURSIVE ${WAITING}, ready AS MATERIALIZED (
  SELECT id, owner, url, failures, has_paid, is_slow, ARRAY[secret] || CASE WHEN secret_rotated_at > now() - ${PREVIOUS_SECRET_VALID}
      THEN array_remove(ARRAY[previous_secret], NULL) ELSE '{}' END AS secrets
  FROM webhook_endpoints
  WHERE id = ANY (ARRAY(SELECT endpoint_id FROM waiting WHERE first_at <= now())) AND active AND deleted_at IS NULL
    AND (retry_at IS NULL OR retry_at <= now()) AND NOT is_webhook_owner_disabled(owner)
  FOR NO KEY UPDATE SKIP LOCKED
), busy AS MATERIALIZED (
  SELECT leased.endpoint_id, endpoint.owner, ${shareOf('endpoint.has_paid', 'endpoint.is_slow')} AS share, count(*)::int AS open
  FROM (
    SELECT one.endpoint_id FROM webhook_deliveries AS one WHERE one.state = 'pending' AND one.leased_until > now()
    ORDER BY one.leased_until
  ) AS leased JOIN webhook_endpoints AS endpoint ON endpoint.id = leased.endpoint_id
  GROUP BY leased.endpoint_id, endpoint.owner, share
), free AS MATERIALIZED (
  SELECT ready.id, ready.owner, has_paid, is_slow, coalesce(busy.open, 0) AS open,
    greatest(0, CASE WHEN ready.failures > 0 THEN 1 ELSE ${MAX_PER_ENDPOINT} END - coalesce(busy.open, 0)) AS slots
  FROM ready LEFT JOIN busy ON busy.endpoint_id = ready.id
), first AS MATERIALIZED (
  SELECT one.id, free.id AS endpoint_id, free.owner, is_slow, one.next_attempt_at,
    has_paid OR (SELECT event.type = ANY ($2::text[]) FROM webhook_events AS event WHERE event.id = one.event_id) AS has_paid,
    free.open + row_number() OVER (PARTITION BY free.id ORDER BY one.next_attempt_at, one.id) AS place
  FROM free CROSS JOIN LATERAL (
    SELECT due.id, due.event_id, due.next_attempt_at FROM (${DUE}) AS due WHERE NOT ${IS_BEHIND}
    ORDER BY due.next_attempt_at, due.id LIMIT free.slots) AS one
), owners AS MATERIALIZED (
  SELECT owner, coalesce(own.open, 0) AS open, (
      SELECT max(served_at) FROM webhook_endpoints AS endpoint WHERE endpoint.owner = one.owner AND endpoint.deleted_at IS NULL
    ) AS served_at
  FROM (SELECT DISTINCT owner FROM first) AS one LEFT JOIN (SELECT owner, sum(open) AS open FROM busy GROUP BY owner) AS own USING (owner)
), turns AS (
  SELECT first.id, first.next_attempt_at, place, owners.served_at, ${shareOf('has_paid', 'is_slow')} AS share,
    CASE WHEN is_slow THEN 2 WHEN is_slow IS NULL THEN 1 ELSE 0 END AS slowness,
    owners.open + row_number() OVER (PARTITION BY owner ORDER BY place, first.next_attempt_at, first.id) AS turn
  FROM first JOIN owners USING (owner)
), shared AS (
  SELECT *, row_number() OVER (PARTITION BY share ORDER BY ${ORDER}) AS place_in_share FROM turns
  WHERE turn <= ${MAX_PER_OWNER} OR place = 1
), ranked AS (
  SELECT id, turn, row_number() OVER (ORDER BY share, ${ORDER}) AS rank FROM shared
  WHERE share = ${QUICK} OR place_in_share + coalesce((SELECT sum(open) FROM busy WHERE busy.share = shared.share), 0)
    <= CASE share WHEN ${SLOW} THEN ${MAX_SLOW} ELSE ${MAX_NEW} END
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
    (extract(epoch FROM clock_timestamp() - claimed.started_at) * 1000)::float8 AS "elapsedMs",
    event.type = ANY ($2::text[]) AS "provesPayment", ready.has_paid OR event.type = ANY ($2::text[]) AS "hasPaid"
), served AS (
  UPDATE webhook_endpoints SET served_at = now() WHERE id = ANY (ARRAY(SELECT "endpointId" FROM claimed))
)
SELECT * FROM claimed`
