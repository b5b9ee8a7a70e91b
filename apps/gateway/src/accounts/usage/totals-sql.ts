/** The node failed to answer, or the credits were given back. Fixed when a call ends, but for a charge that is taken back. */
export const IS_FAILED = `(state = 'refunded' OR outcome IN ('upstream_timeout', 'upstream_refused') OR status_code >= 500)`

const ORIGIN = "TIMESTAMPTZ '2000-01-01 00:00Z'"

/** The start of the hour or day (UTC) of a time; `interval` is an expression. */
export const periodOf = (interval: string, time: string) =>
  `CASE ${interval} WHEN 'hour' THEN date_bin('1 hour', ${time}, ${ORIGIN}) ELSE date_bin('1 day', ${time}, ${ORIGIN}) END`

const KEY = 'account_id, interval, period, chain_id, rpc_method'

/** Adds rows of the same columns to the totals. Sees also totals that were created after the statement began. */
export const addToTotals = (rows: string) => `
  INSERT INTO usage_totals (${KEY}, calls, credits, failed)
  SELECT ${KEY}, calls, credits, failed FROM (${rows}) AS added ORDER BY ${KEY}
  ON CONFLICT (${KEY}) DO UPDATE SET calls = usage_totals.calls + EXCLUDED.calls,
    credits = usage_totals.credits + EXCLUDED.credits, failed = usage_totals.failed + EXCLUDED.failed`
