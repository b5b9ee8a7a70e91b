export const PREVIOUS_SECRET_VALID = "interval '1 day'"

/**
 * Precedes, in one transaction, each statement that asks for an order. One index has that order, and Postgres must not sort what
 * another index finds because statistics say that few rows are pending: they are of a time when none was.
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
export const WAITING = `waiting (endpoint_id, first_at) AS (
  (SELECT endpoint_id, next_attempt_at FROM webhook_deliveries WHERE state = 'pending'
   ORDER BY endpoint_id, next_attempt_at, id LIMIT 1)
  UNION ALL
  SELECT next.endpoint_id, next.next_attempt_at FROM waiting CROSS JOIN LATERAL (
    SELECT endpoint_id, next_attempt_at FROM webhook_deliveries AS other
    WHERE other.state = 'pending' AND other.endpoint_id > waiting.endpoint_id
    ORDER BY other.endpoint_id, other.next_attempt_at, other.id LIMIT 1) AS next
)`

/** Statements that name ids use this: "state = 'pending'" would let Postgres look through an index of all pending deliveries for them. */
export const IS_PENDING = "state NOT IN ('delivered', 'failed')"
