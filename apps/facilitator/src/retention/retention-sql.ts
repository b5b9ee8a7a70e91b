import { isOpenSql } from '../settlement/status'

/**
 * $1 maximum of rows, $2 days to keep. Any number of replicas can run a statement at once. Times are by the
 * clock of the database; days are UTC.
 */

export type StepRow = { rows: number }

const isOld = (column: string) => `${column} < now() - make_interval(days => $2)`
const countOf = (handled: string) => `SELECT count(*)::int AS rows FROM ${handled}`

const isUnderWay = "t.status in ('signed', 'mined')"

/**
 * Drops the signed payload of ended settlements whose transactions are final. The row keeps the
 * authorization, the result and the request's hash, so that no payment is settled again.
 */
export const DROP_PAYLOADS = `
WITH old AS MATERIALIZED (
  SELECT s.id FROM settlements s
  WHERE ${isOld('s.ended_at')} AND s.payload <> '{}' AND NOT ${isOpenSql('s')}
    AND NOT EXISTS (SELECT FROM transactions t WHERE t.id = s.transaction_id AND ${isUnderWay})
    AND NOT EXISTS (
      SELECT FROM fee_allocations c JOIN transactions t ON t.id = c.transaction_id WHERE c.settlement_id = s.id AND ${isUnderWay})
  ORDER BY s.ended_at LIMIT $1 FOR UPDATE SKIP LOCKED
), emptied AS (
  UPDATE settlements SET payload = '{}' WHERE id IN (SELECT id FROM old) RETURNING id
)
${countOf('emptied')}`

export const DELETE_REFRESH_TOKENS = `
WITH deleted AS (
  DELETE FROM refresh_tokens WHERE hash IN (
    SELECT hash FROM refresh_tokens WHERE ${isOld('expires_at')} ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING hash
)
${countOf('deleted')}`

export const DELETE_PASSWORD_RESETS = `
WITH deleted AS (
  DELETE FROM password_resets WHERE user_id IN (
    SELECT user_id FROM password_resets WHERE ${isOld('expires_at')} ORDER BY user_id LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING user_id
)
${countOf('deleted')}`

export const DELETE_INVITATIONS = `
WITH deleted AS (
  DELETE FROM invitations WHERE hash IN (
    SELECT hash FROM invitations WHERE ${isOld('coalesce(expires_at, used_at)')} ORDER BY hash LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING hash
)
${countOf('deleted')}`

const deleteDays = (table: string, key: string) => `
WITH deleted AS (
  DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${key} FROM ${table} WHERE day < (now() at time zone 'UTC')::date - $2::int
    ORDER BY day LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING 1
)
${countOf('deleted')}`

export const DELETE_HTTP_METRICS = deleteDays('http_metrics', 'user_id, day, method, route, status')
export const DELETE_CLIENT_METRICS = deleteDays('client_metrics', 'user_id, day, client_id')
export const DELETE_REFUSALS = deleteDays('settlement_refusals', 'client_id, day, network, reason')

/** Deleted or expired keys that no settlement and no transaction references. */
export const DELETE_CLIENTS = `
WITH deleted AS (
  DELETE FROM clients WHERE client_id IN (
    SELECT client_id FROM clients c
    WHERE (deleted_at IS NOT NULL OR expires_at IS NOT NULL) AND ${isOld('least(deleted_at, expires_at)')}
      AND NOT EXISTS (SELECT FROM settlements WHERE client_id = c.client_id)
      AND NOT EXISTS (SELECT FROM fee_shares WHERE client_id = c.client_id)
    ORDER BY least(deleted_at, expires_at) LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING client_id
)
${countOf('deleted')}`

/** A resource stays in the catalog as long as it is paid for. */
export const DELETE_CATALOGED_RESOURCES = `
WITH deleted AS (
  DELETE FROM cataloged_resources WHERE id IN (
    SELECT id FROM cataloged_resources WHERE ${isOld('last_paid_at')} ORDER BY last_paid_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING id
)
${countOf('deleted')}`
