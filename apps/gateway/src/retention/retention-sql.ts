/**
 * $1 maximum of rows, $2 days to keep, $3 cursor of the previous step. Any number of replicas can run a statement at once. Times
 * are by the clock of the database.
 */

/** `next` is null at the end. */
export type StepRow = { rows: number; next: string | null }

const isOld = (column: string) => `${column} < now() - make_interval(days => $2)`
/** Each statement finds the remaining rows itself, so it repeats until it handles fewer than $1. */
const stepOf = (handled: string) =>
  `SELECT count(*)::int AS rows, CASE WHEN count(*) = $1 THEN $3::text END AS next FROM ${handled}`

export const DROP_REQUESTS = `
WITH old AS MATERIALIZED (
  SELECT id FROM payments
  WHERE status IN ('credited', 'failed') AND request_dropped_at IS NULL AND ${isOld('updated_at')}
  ORDER BY updated_at LIMIT $1 FOR UPDATE SKIP LOCKED
), emptied AS (
  UPDATE payments SET request_dropped_at = now(), request = jsonb_set(request, '{paymentPayload}',
    jsonb_build_object('x402Version', 1, 'scheme', 'exact', 'network', network, 'payload', '{}'::jsonb))
  WHERE id IN (SELECT id FROM old) RETURNING id
)
${stepOf('emptied')}`

export const DELETE_FAILED_PAYMENTS = `
WITH old AS MATERIALIZED (
  SELECT id FROM payments WHERE status = 'failed' AND transaction IS NULL AND ${isOld('updated_at')}
  ORDER BY updated_at LIMIT $1 FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM payments WHERE id IN (SELECT id FROM old) RETURNING id
)
${stepOf('deleted')}`

export const DELETE_PAYMENT_IDENTIFIERS = `
WITH old AS MATERIALIZED (
  SELECT payer, id FROM payment_identifiers WHERE ${isOld('created_at')}
  ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM payment_identifiers WHERE (payer, id) IN (SELECT payer, id FROM old) RETURNING id
)
${stepOf('deleted')}`

/** Deletes the addresses of clients too. Their accounts stay, under ids that lead to no address. */
export const DELETE_FREE_CREDIT_SHARES = `
WITH old AS MATERIALIZED (
  SELECT id FROM free_credit_shares WHERE day < (now() AT TIME ZONE 'UTC')::date - $2::int
  ORDER BY day LIMIT $1 FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM free_credit_shares WHERE id IN (SELECT id FROM old) RETURNING id
)
${stepOf('deleted')}`

export const DELETE_SESSIONS = `
WITH old AS MATERIALIZED (
  SELECT hash, session_id FROM refresh_tokens WHERE ${isOld('expires_at')}
  ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM refresh_tokens WHERE hash IN (SELECT hash FROM old) RETURNING hash
), ended AS (
  DELETE FROM sessions WHERE id IN (SELECT session_id FROM old) AND NOT EXISTS (
    SELECT FROM refresh_tokens WHERE session_id = sessions.id AND hash NOT IN (SELECT hash FROM old))
)
${stepOf('deleted')}`

/**
 * Ids ascend with time. Calls are kept until they are in the totals of `/usage`. The cost of deleted calls is added to `archived_credits` in the same commit, under the lock for
 * spending, so that the ledger's invariants hold throughout.
 */
export const DELETE_USAGE = `
WITH page AS MATERIALIZED (
  SELECT id, account_id, state, ${isOld('created_at')} AS is_old FROM usage WHERE id > $3::bigint ORDER BY id LIMIT $1
), old AS MATERIALIZED (
  SELECT id, account_id FROM page WHERE is_old AND state <> 'reserved'
    AND id <= (SELECT last_call FROM usage_totals_progress)
), locked AS MATERIALIZED (
  SELECT id FROM accounts WHERE id IN (SELECT account_id FROM old) ORDER BY id FOR UPDATE
), deleted AS (
  DELETE FROM usage
  WHERE id IN (SELECT id FROM old) AND account_id IN (SELECT id FROM locked) AND state <> 'reserved'
  RETURNING account_id, CASE state WHEN 'refunded' THEN 0 ELSE credits END AS credits
), archived AS (
  UPDATE accounts SET calls = accounts.calls - gone.calls, archived_credits = accounts.archived_credits + gone.credits
  FROM (SELECT account_id, count(*) AS calls, sum(credits) AS credits FROM deleted GROUP BY account_id) AS gone
  WHERE accounts.id = gone.account_id
)
SELECT (SELECT count(*) FROM deleted)::int AS rows,
  (SELECT max(id) FROM page HAVING count(*) = $1 AND bool_or(is_old))::text AS next`

/**
 * Calls show the labels of their keys. The first call that an account still has is enough: a key makes none after its end, and ids ascend
 * with time.
 */
export const DELETE_ACCESS_KEYS = `
WITH old AS MATERIALIZED (
  SELECT id FROM access_keys AS key WHERE ${isOld('least(deleted_at, expires_at)')} AND NOT EXISTS (
    SELECT FROM accounts, LATERAL (SELECT created_at FROM usage WHERE account_id = accounts.id ORDER BY id LIMIT 1) AS first_call
    WHERE accounts.wallet = key.wallet AND accounts.pricing_plan_id = key.pricing_plan_id
      AND first_call.created_at <= least(key.deleted_at, key.expires_at))
  LIMIT $1 FOR UPDATE OF key SKIP LOCKED
), deleted AS (
  DELETE FROM access_keys WHERE id IN (SELECT id FROM old) RETURNING id
)
${stepOf('deleted')}`

/** Those of hours go with their calls, those of days later. */
export const deleteUsageTotals = (interval: 'hour' | 'day') => `
WITH old AS MATERIALIZED (
  SELECT account_id, period, chain_id, rpc_method FROM usage_totals
  WHERE interval || ' totals' = '${interval} totals' AND ${isOld('period')}
  ORDER BY period LIMIT $1 FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM usage_totals WHERE interval = '${interval}'
    AND (account_id, period, chain_id, rpc_method) IN (SELECT account_id, period, chain_id, rpc_method FROM old)
  RETURNING account_id
)
${stepOf('deleted')}`
