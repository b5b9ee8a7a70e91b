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

/** One row for each call, in order. `retry`: covered alone, but not after the calls before it. `locked`: its account was skipped. */
export type SpendRow =
  | { outcome: 'paid'; usage_id: bigint; remaining: bigint }
  | { outcome: 'insufficient' | 'revoked' | 'retry' | 'locked'; usage_id: null; remaining: bigint }

/**
 * A call is paid if its session is active and its account covers it after all calls before it; its usage row, and a reservation
 * that finds it again if this replica dies, are in the same commit. The new balance is computed from the locked row: Postgres
 * first checks an UPDATE against the row of the snapshot, where a subtraction would fail on credits granted while this statement
 * waited for the lock.
 */
export const SPEND = withLockModes(
  (lock) => `
WITH asked AS MATERIALIZED (
  SELECT call.*, session.wallet IS NOT NULL AS live, session.wallet, account.id AS known_account
  FROM unnest($2::uuid[], $3::int[], $4::int[], $5::int[]) WITH ORDINALITY AS call (session_id, plan_id, cost, kind, position)
    LEFT JOIN LATERAL (
      SELECT wallet FROM sessions WHERE id = call.session_id AND revoked_at IS NULL LIMIT 1
    ) AS session ON true
    LEFT JOIN LATERAL (
      SELECT id FROM accounts WHERE accounts.wallet = session.wallet AND pricing_plan_id = call.plan_id LIMIT 1
    ) AS account ON true
), locked AS MATERIALIZED (
  SELECT id, balance, calls FROM accounts WHERE id = ANY (ARRAY(SELECT known_account FROM asked)) ORDER BY id ${lock}
), judged AS MATERIALIZED (
  SELECT asked.*, locked.id AS account_id, coalesce(locked.balance, 0) AS balance, locked.calls
  FROM asked LEFT JOIN locked ON locked.id = known_account
), summed AS (
  SELECT judged.*, sum(cost) OVER (PARTITION BY account_id ORDER BY position) AS total
  FROM judged WHERE live AND cost <= balance
), paid AS MATERIALIZED (
  SELECT summed.*, nextval('usage_id_seq') AS usage_id FROM summed WHERE total <= balance
), spent AS (
  UPDATE accounts SET balance = bill.remaining, calls = bill.calls
  FROM (
    SELECT account_id, balance - sum(cost) AS remaining, calls + count(*) AS calls FROM paid GROUP BY account_id, balance, calls
  ) AS bill
  WHERE accounts.id = bill.account_id
), booked AS (
  INSERT INTO usage (id, account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, credits)
  SELECT usage_id, account_id, $1::uuid, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, cost
  FROM paid JOIN unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
    WITH ORDINALITY AS kinds (provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, kind) USING (kind)
), reserved AS (
  INSERT INTO reservations (first_call, last_call, replica_id)
  SELECT min(usage_id), max(usage_id), $1::uuid FROM paid HAVING count(*) > 0
)
SELECT
  CASE
    WHEN paid.usage_id IS NOT NULL THEN 'paid'
    WHEN NOT judged.live THEN 'revoked'
    WHEN judged.cost <= judged.balance THEN 'retry'
    WHEN judged.account_id IS NULL AND judged.known_account IS NOT NULL THEN 'locked'
    ELSE 'insufficient'
  END AS outcome,
  paid.usage_id,
  judged.balance - coalesce(paid.total, 0) AS remaining
FROM judged LEFT JOIN paid USING (position)
ORDER BY position`,
)

/** A row for each ending that did not end its call: the call had ended `before`, or its rows are `locked`. Positions from 1. */
export type FinishRow = { position: bigint; ended: 'before' | 'locked' }

/**
 * Ends each reserved call once, by the first ending that names it, and refunds credits. An ending with `takes_back` ($6) has
 * priority and also refunds a call that is done.
 */
export const FINISH = withLockModes(
  (lock, skips) => `
WITH asked AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::text[], $5::int[], $6::boolean[])
    WITH ORDINALITY AS e (usage_id, state, status_code, outcome, latency_ms, takes_back, position)
), ending AS MATERIALIZED (
  SELECT DISTINCT ON (usage_id) * FROM asked ORDER BY usage_id, takes_back DESC, position
), mine AS MATERIALIZED (
  SELECT usage.id, usage.account_id, usage.credits FROM usage
  WHERE usage.id = ANY ($1::bigint[]) AND (usage.state = 'reserved'
    OR usage.state = 'done' AND usage.id IN (SELECT usage_id FROM ending WHERE takes_back))
  ORDER BY usage.id ${lock}
), locked AS MATERIALIZED (
  SELECT accounts.id FROM accounts
  WHERE accounts.id IN (SELECT account_id FROM mine JOIN ending ON ending.usage_id = mine.id WHERE ending.state = 'refunded')
  ORDER BY accounts.id ${lock}
), finished AS (
  UPDATE usage SET state = ending.state, status_code = ending.status_code, outcome = ending.outcome,
    latency_ms = ending.latency_ms, finished_at = now()
  FROM ending JOIN mine ON mine.id = ending.usage_id
  WHERE usage.id = mine.id AND (ending.state <> 'refunded' OR mine.account_id IN (SELECT id FROM locked))
  RETURNING ending.position, usage.account_id, usage.credits, usage.state
), refunded AS (
  UPDATE accounts SET balance = accounts.balance + back.credits
  FROM (SELECT account_id, sum(credits) AS credits FROM finished WHERE state = 'refunded' GROUP BY account_id) AS back
  WHERE accounts.id = back.account_id
)
SELECT asked.position, CASE
    WHEN ${skips} AND EXISTS (SELECT FROM usage WHERE id = asked.usage_id
      AND (usage.state = 'reserved' OR usage.state = 'done' AND asked.takes_back)) THEN 'locked'
    ELSE 'before'
  END AS ended
FROM asked LEFT JOIN finished USING (position)
WHERE finished.position IS NULL`,
)

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
RETURNING id`

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
