/** $1 maximum of rows, $2 days to keep. For the retention jobs of both services. */

/** Ended deliveries, with the log of their attempts. */
export const DELETE_WEBHOOK_DELIVERIES = `
WITH deleted AS (
  DELETE FROM webhook_deliveries WHERE id IN (
    SELECT id FROM webhook_deliveries WHERE state <> 'pending' AND ended_at < now() - make_interval(days => $2)
    ORDER BY ended_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING id
)
SELECT count(*)::int AS rows FROM deleted`

export const DELETE_WEBHOOK_EVENTS = `
WITH deleted AS (
  DELETE FROM webhook_events WHERE id IN (
    SELECT id FROM webhook_events
    WHERE created_at < now() - make_interval(days => $2)
      AND NOT EXISTS (SELECT FROM webhook_deliveries WHERE event_id = webhook_events.id)
    ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING id
)
SELECT count(*)::int AS rows FROM deleted`

/** Deleted endpoints without deliveries. */
export const DELETE_WEBHOOK_ENDPOINTS = `
WITH deleted AS (
  DELETE FROM webhook_endpoints WHERE id IN (
    SELECT id FROM webhook_endpoints
    WHERE deleted_at < now() - make_interval(days => $2)
      AND NOT EXISTS (SELECT FROM webhook_deliveries WHERE endpoint_id = webhook_endpoints.id)
    LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING id
)
SELECT count(*)::int AS rows FROM deleted`
