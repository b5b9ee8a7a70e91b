import { addToTotals, IS_FAILED, periodOf } from './usage/totals-sql'

/**
 * Each statement decides under the locks that it takes, so any number of replicas can run it. Accounts are always locked in the
 * order of their ids, which prevents deadlocks.
 *
 * Batch statements have two variants: `waiting` for locks and, after a lock timeout, `skipping` locked rows. Their plans must not
 * depend on statistics, which a new table gets late: they look rows up one by one (LATERAL, LIMIT 1) or by a list of ids.
 */
export type BatchStatement = { waiting: string; skipping: string }

const withLockModes = (textOf: (lock: string, skips: boolean) => string): BatchStatement => ({
  waiting: textOf('FOR UPDATE', false),
  skipping: textOf('FOR UPDATE SKIP LOCKED', true),
})

/**
 * What allows a call to spend: a session or an access key of the wallet, the one call of a payment that came without a session, or
 * today's share of a network address in the free credits.
 */
export type Authority = { kind: 'session' | 'key' | 'payment' | 'address'; id: string }

/**
 * One row for each call, in order. `revoked`: its authority does not exist or has ended. `key_limit`: its access key may not
 * spend as much. `retry`: covered alone, but not after the calls before it. `locked`: its account was skipped.
 */
export type SpendRow =
  | { outcome: 'paid'; usage_id: bigint; remaining: bigint }
  | {
      outcome: 'insufficient' | 'revoked' | 'key_limit' | 'retry' | 'locked'
      usage_id: null
      remaining: bigint
    }

export const TODAY = "(now() AT TIME ZONE 'UTC')::date"

/**
 * A call is paid if its authority holds, and its account and its access key cover it after all calls before it; its usage row,
 * and a reservation that finds it again if this replica dies, are in the same commit. New sums are computed from the locked
 * rows: Postgres first checks an UPDATE against the row of the snapshot, where a subtraction would fail on credits granted while
 * this statement waited for the lock. Keys and payments are locked after their account, so a call of another account cannot
 * hold them.
 */
export const SPEND = withLockModes(
  (lock) => `
WITH asked AS MATERIALIZED (
  SELECT call.*, holder.wallet IS NOT NULL AS live, holder.wallet, account.id AS known_account
  FROM unnest($2::text[], $3::uuid[], $4::int[], $5::int[], $6::int[])
      WITH ORDINALITY AS call (authority, authority_id, plan_id, cost, kind, position)
    LEFT JOIN LATERAL (
      SELECT wallet FROM sessions
      WHERE call.authority = 'session' AND id = call.authority_id AND revoked_at IS NULL
      UNION ALL
      SELECT wallet FROM access_keys
      WHERE call.authority = 'key' AND id = call.authority_id AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      UNION ALL
      SELECT wallet FROM payments
      WHERE call.authority = 'payment' AND id = call.authority_id AND call_state = 'open' AND status = 'credited'
      UNION ALL
      SELECT 'address ' || id FROM free_credit_shares
      WHERE call.authority = 'address' AND id = call.authority_id AND day = ${TODAY}
      LIMIT 1
    ) AS holder ON true
    LEFT JOIN LATERAL (
      SELECT id FROM accounts WHERE accounts.wallet = holder.wallet AND pricing_plan_id = call.plan_id LIMIT 1
    ) AS account ON true
), locked AS MATERIALIZED (
  SELECT id, balance, calls FROM accounts WHERE id = ANY (ARRAY(SELECT known_account FROM asked)) ORDER BY id ${lock}
), keys AS MATERIALIZED (
  SELECT id AS key_id, spent, CASE day WHEN ${TODAY} THEN spent_on_day ELSE 0 END AS spent_today, max_credits, max_credits_per_day
  FROM access_keys WHERE deleted_at IS NULL AND id = ANY (ARRAY(
    SELECT authority_id FROM asked JOIN locked ON locked.id = known_account WHERE authority = 'key'))
  ORDER BY id FOR UPDATE
), unserved AS MATERIALIZED (
  SELECT id AS payment_id FROM payments WHERE call_state = 'open' AND id = ANY (ARRAY(
    SELECT authority_id FROM asked JOIN locked ON locked.id = known_account WHERE authority = 'payment'))
  ORDER BY id FOR UPDATE
), judged AS MATERIALIZED (
  SELECT asked.*, locked.id AS account_id, coalesce(locked.balance, 0) AS balance, locked.calls,
    CASE authority WHEN 'key' THEN key_id IS NOT NULL WHEN 'payment' THEN payment_id IS NOT NULL ELSE true END AS held,
    coalesce(least(max_credits - spent, max_credits_per_day - spent_today), cost) AS allowed
  FROM asked LEFT JOIN locked ON locked.id = known_account
    LEFT JOIN keys ON key_id = authority_id LEFT JOIN unserved ON payment_id = authority_id
), summed AS (
  SELECT judged.*, sum(cost) OVER (PARTITION BY account_id ORDER BY position) AS total,
    sum(cost) OVER (PARTITION BY authority_id ORDER BY position) AS authority_total,
    row_number() OVER (PARTITION BY authority_id ORDER BY position) AS turn
  FROM judged WHERE live AND held AND cost <= balance AND cost <= allowed
), paid AS MATERIALIZED (
  SELECT summed.*, nextval('usage_id_seq') AS usage_id FROM summed
  WHERE total <= balance AND (authority <> 'key' OR authority_total <= allowed) AND (authority <> 'payment' OR turn = 1)
), spent AS (
  UPDATE accounts SET balance = bill.remaining, calls = bill.calls
  FROM (
    SELECT account_id, balance - sum(cost) AS remaining, calls + count(*) AS calls FROM paid GROUP BY account_id, balance, calls
  ) AS bill
  WHERE accounts.id = bill.account_id
), spent_by_key AS (
  UPDATE access_keys SET spent = bill.spent, spent_on_day = bill.spent_today, day = ${TODAY}
  FROM (
    SELECT key_id, keys.spent + sum(cost) AS spent, spent_today + sum(cost) AS spent_today
    FROM paid JOIN keys ON key_id = authority_id GROUP BY key_id, keys.spent, spent_today
  ) AS bill
  WHERE access_keys.id = ANY (ARRAY(SELECT key_id FROM keys)) AND access_keys.id = bill.key_id
), served AS (
  UPDATE payments SET call_state = 'reserved'
  WHERE id = ANY (ARRAY(SELECT authority_id FROM paid WHERE authority = 'payment'))
), booked AS (
  INSERT INTO usage (id, account_id, replica_id, key_id, payment_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, credits)
  SELECT usage_id, account_id, $1::uuid, CASE authority WHEN 'key' THEN authority_id END,
    CASE authority WHEN 'payment' THEN authority_id END,
    provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, cost
  FROM paid JOIN unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
    WITH ORDINALITY AS kinds (provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, kind) USING (kind)
), reserved AS (
  INSERT INTO reservations (first_call, last_call, replica_id)
  SELECT min(usage_id), max(usage_id), $1::uuid FROM paid HAVING count(*) > 0
)
SELECT
  CASE
    WHEN paid.usage_id IS NOT NULL THEN 'paid'
    WHEN NOT judged.live THEN 'revoked'
    WHEN judged.known_account IS NULL THEN 'insufficient'
    WHEN judged.account_id IS NULL THEN 'locked'
    WHEN NOT judged.held THEN 'revoked'
    WHEN judged.cost > judged.balance THEN 'insufficient'
    WHEN judged.cost > judged.allowed THEN 'key_limit'
    ELSE 'retry'
  END AS outcome,
  paid.usage_id,
  judged.balance - coalesce(paid.total, 0) AS remaining
FROM judged LEFT JOIN paid USING (position)
ORDER BY position`,
)

/**
 * A row for each ending that refunded credits `now`, and for each that did not end its call: the call had ended `before`, or its
 * rows are `locked`. Positions from 1.
 */
export type FinishRow = { position: bigint; ended: 'now' | 'before' | 'locked'; refunded: number | null }

/** Waits for a replica that counts calls: a call that is taken back was counted before that, or will be counted as refunded. */
const COUNTED = (skips: boolean) => `counted AS MATERIALIZED (
  SELECT last_call FROM usage_totals_progress WHERE EXISTS (SELECT FROM mine WHERE was_done)
  FOR SHARE${skips ? ' SKIP LOCKED' : ''}
), `

const FINISHED_CALL = ", usage.id AS usage_id, usage.chain_id, coalesce(usage.rpc_method, '') AS rpc_method"

const UNCOUNTED = `, uncounted AS (${addToTotals(`
  SELECT finished.account_id, interval, ${periodOf('interval', 'created_at')} AS period, chain_id, rpc_method,
    0 AS calls, -sum(finished.credits) AS credits, count(*) FILTER (WHERE NOT had_failed) AS failed
  FROM finished JOIN mine ON mine.id = finished.usage_id CROSS JOIN (VALUES ('hour'), ('day')) AS intervals (interval)
  WHERE was_done AND finished.usage_id <= (SELECT last_call FROM counted)
  GROUP BY 1, 2, 3, 4, 5`)}
)`

const finishText = (lock: string, skips: boolean, isLate: boolean) => `
WITH asked AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::text[], $5::int[], $6::boolean[], $7::int[])
    WITH ORDINALITY AS e (usage_id, state, status_code, outcome, latency_ms, takes_back, returned, position)
), ending AS MATERIALIZED (
  SELECT DISTINCT ON (usage_id) * FROM asked ORDER BY usage_id, takes_back DESC, position
), mine AS MATERIALIZED (
  SELECT usage.id, usage.account_id, usage.credits${isLate ? `, state = 'done' AS was_done, ${IS_FAILED} AS had_failed` : ''} FROM usage
  WHERE usage.id = ANY ($1::bigint[]) AND (usage.state = 'reserved'
    OR usage.state = 'done' AND usage.id IN (SELECT usage_id FROM ending WHERE takes_back))
  ORDER BY usage.id ${lock}
), locked AS MATERIALIZED (
  SELECT accounts.id FROM accounts
  WHERE accounts.id IN (SELECT account_id FROM mine JOIN ending ON ending.usage_id = mine.id WHERE ending.state = 'refunded' OR ending.returned > 0)
  ORDER BY accounts.id ${lock}
), ${isLate ? COUNTED(skips) : ''}finished AS (
  UPDATE usage SET state = ending.state, status_code = ending.status_code, outcome = ending.outcome,
    latency_ms = ending.latency_ms, finished_at = now(), credits = usage.credits - ending.returned
  FROM ending JOIN mine ON mine.id = ending.usage_id
  WHERE usage.id = mine.id AND (ending.state <> 'refunded' AND ending.returned = 0 OR mine.account_id IN (SELECT id FROM locked))
    ${isLate ? 'AND (NOT was_done OR EXISTS (SELECT FROM counted))' : ''}
  RETURNING ending.position, usage.account_id, usage.credits, CASE usage.state WHEN 'refunded' THEN usage.credits ELSE ending.returned END AS back, usage.state, usage.key_id, usage.payment_id, usage.created_at${isLate ? FINISHED_CALL : ''}
), refunded AS (
  UPDATE accounts SET balance = accounts.balance + back.credits
  FROM (SELECT account_id, sum(back) AS credits FROM finished WHERE back > 0 GROUP BY account_id) AS back
  WHERE accounts.id = back.account_id
), refunded_to_key AS (
  UPDATE access_keys SET spent = access_keys.spent - back.credits,
    spent_on_day = access_keys.spent_on_day - CASE access_keys.day WHEN ${TODAY} THEN back.today ELSE 0 END
  FROM (
    SELECT key_id, sum(back) AS credits,
      coalesce(sum(back) FILTER (WHERE (created_at AT TIME ZONE 'UTC')::date = ${TODAY}), 0) AS today
    FROM finished WHERE back > 0 AND key_id IS NOT NULL GROUP BY key_id
  ) AS back
  WHERE access_keys.id = ANY (ARRAY(SELECT key_id FROM finished WHERE key_id IS NOT NULL)) AND access_keys.id = back.key_id
), answered AS (
  UPDATE payments SET call_state = CASE finished.state WHEN 'done' THEN 'served' ELSE 'open' END
  FROM finished
  WHERE payments.id = ANY (ARRAY(SELECT payment_id FROM finished WHERE payment_id IS NOT NULL)) AND payments.id = finished.payment_id
)${isLate ? UNCOUNTED : ''}
SELECT asked.position, finished.back AS refunded, CASE
    WHEN finished.position IS NOT NULL THEN 'now'
    WHEN ${skips} AND EXISTS (SELECT FROM usage WHERE id = asked.usage_id
      AND (usage.state = 'reserved' OR usage.state = 'done' AND asked.takes_back)) THEN 'locked'
    ELSE 'before'
  END AS ended
FROM asked LEFT JOIN finished USING (position)
WHERE finished.position IS NULL OR finished.back > 0`

/**
 * Ends each reserved call once, by the first ending that names it, and refunds credits. An ending with `takes_back` ($6) has
 * priority and also refunds a call that is done. `returned` ($7) is the part of a call's credits that it costs less.
 */
export const FINISH = withLockModes((lock, skips) => finishText(lock, skips, false))

/** For endings that take back: corrects the totals of calls that were counted. */
export const FINISH_LATE = withLockModes((lock, skips) => finishText(lock, skips, true))

/** Leaves a call unchanged that another replica has refunded. */
export const CUT_OFF =
  "UPDATE usage SET outcome = 'cut_off' WHERE id = $1 AND state = 'done' AND outcome = 'answered'"

export const GRANT = `
WITH payment AS (
  UPDATE payments SET status = 'credited', updated_at = now() WHERE id = $1 AND status = 'settled'
  RETURNING id, wallet, pricing_plan_id, credits
), account AS (
  INSERT INTO accounts (wallet, pricing_plan_id, balance) SELECT wallet, pricing_plan_id, credits FROM payment
  ON CONFLICT (wallet, pricing_plan_id) DO UPDATE SET balance = accounts.balance + EXCLUDED.balance
  RETURNING id
)
INSERT INTO grants (account_id, payment_id, credits)
SELECT account.id, payment.id, payment.credits FROM account, payment
RETURNING credits`

export const HEARTBEAT = `
INSERT INTO replicas (id, heartbeat_at) VALUES ($1, now())
ON CONFLICT (id) DO UPDATE SET heartbeat_at = EXCLUDED.heartbeat_at
RETURNING heartbeat_at AS at`

/** Those of a row of `reservations` that have not ended. OFFSET 0 keeps Postgres from joining the tables in another order. */
export const RESERVED_CALLS = `
  SELECT id, created_at FROM usage
  WHERE id BETWEEN reservations.first_call AND reservations.last_call
    AND replica_id = reservations.replica_id AND state = 'reserved' OFFSET 0`

/** Its replica has sent no heartbeat for the seconds of this parameter. */
const isOfDeadReplica = (seconds: string) => `coalesce(
    (SELECT heartbeat_at FROM replicas WHERE replicas.id = reservations.replica_id), reservations.created_at
  ) < now() - make_interval(secs => ${seconds})`

/**
 * Reserved calls of replicas without a heartbeat for $2 seconds, and this replica's ($1) own that are older than $3 seconds, of
 * which it knows which are active.
 */
export const ORPHANS = `
SELECT call.id, replica_id = $1::uuid AS is_own, now() AS at
FROM reservations CROSS JOIN LATERAL (${RESERVED_CALLS}) AS call
WHERE CASE
    -- The ranges of two batches can overlap.
    WHEN replica_id = $1::uuid THEN greatest(reservations.created_at, call.created_at) < now() - make_interval(secs => $3)
    ELSE ${isOfDeadReplica('$2')}
  END`

/** Of this replica ($1), and of replicas without a heartbeat for $2 seconds. */
export const DELETE_ENDED_RESERVATIONS = `
DELETE FROM reservations
WHERE (replica_id = $1::uuid OR ${isOfDeadReplica('$2')}) AND NOT EXISTS (${RESERVED_CALLS})`

export const DELETE_DEAD_REPLICAS = `
DELETE FROM replicas WHERE heartbeat_at < now() - make_interval(secs => $1)
  AND NOT EXISTS (SELECT FROM reservations WHERE replica_id = replicas.id)`
