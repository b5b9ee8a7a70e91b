import { type RetentionTask } from '@tollgate/database'

/** $1 maximum of rows, $2 days to keep. Ended deliveries go with the log of their attempts. */
const DELETE_DELIVERIES = `
WITH deleted AS (
  DELETE FROM webhook_deliveries WHERE id IN (
    SELECT id FROM webhook_deliveries WHERE state <> 'pending' AND ended_at < now() - make_interval(days => $2)
    ORDER BY ended_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING id
)
SELECT count(*)::int AS rows FROM deleted`

const DELETE_EVENTS = `
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
const DELETE_ENDPOINTS = `
WITH deleted AS (
  DELETE FROM webhook_endpoints WHERE id IN (
    SELECT id FROM webhook_endpoints
    WHERE deleted_at < now() - make_interval(days => $2)
      AND NOT EXISTS (SELECT FROM webhook_deliveries WHERE endpoint_id = webhook_endpoints.id)
    LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING id
)
SELECT count(*)::int AS rows FROM deleted`

/** A count is of an hour. */
const DELETE_REPLAYS = `
WITH deleted AS (
  DELETE FROM webhook_replays WHERE owner IN (
    SELECT owner FROM webhook_replays WHERE since < now() - make_interval(days => $2)
    LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING owner
)
SELECT count(*)::int AS rows FROM deleted`

/** For the retention jobs of both services. */
export const webhookRetentionTasks = (days: number): RetentionTask[] => [
  task('webhook_deliveries', DELETE_DELIVERIES, days),
  task('webhook_events', DELETE_EVENTS, days),
  task('webhook_endpoints', DELETE_ENDPOINTS, days),
  task('webhook_replays', DELETE_REPLAYS, days),
]

const task = (name: string, text: string, days: number): RetentionTask => ({
  name,
  async step(client, { limit }) {
    const { rows } = await client.query<{ rows: number }>(text, [limit, days])
    const count = rows[0]?.rows ?? 0
    return { rows: count, next: count === limit ? 'more' : undefined }
  },
})
