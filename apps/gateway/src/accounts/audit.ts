import { type GatewayDatabase } from '@tollgate/database'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'
import { RESERVED_CALLS } from './ledger-sql'
import { recountCalls } from './recount-calls'

/** An audit sums an account's whole history, so it runs seldom and in small batches. */
const INTERVAL_MS = 60_000
const BATCH_SIZE = 100

/**
 * Calls that no replica would find if theirs dies. A replica has at most three batches at once, so the reservation of a call is
 * among the nearest before it. To record a call twice does no harm.
 */
const unrecordedCallsOf = (account: string) => `
  SELECT * FROM usage WHERE account_id = ${account} AND state = 'reserved' AND NOT EXISTS (
    SELECT FROM (
      SELECT last_call FROM reservations WHERE first_call <= usage.id AND reservations.replica_id = usage.replica_id
      ORDER BY first_call DESC LIMIT 16
    ) AS nearest WHERE last_call >= usage.id)`

const ACCOUNT_INVARIANTS = {
  balance_is_negative: 'audited.balance < 0',
  balance_is_not_grants_and_refunds_less_usage: `audited.balance <>
    (SELECT coalesce(sum(credits), 0) FROM grants WHERE account_id = audited.id) - audited.archived_credits
    - (SELECT coalesce(sum(credits), 0) FROM usage WHERE account_id = audited.id AND state <> 'refunded')`,
  calls_are_miscounted: 'audited.calls <> (SELECT count(*) FROM usage WHERE account_id = audited.id)',
  reserved_without_reservation: `EXISTS (${unrecordedCallsOf('audited.id')} OFFSET 0)`,
  credited_without_grant: `EXISTS (
    SELECT FROM payments LEFT JOIN grants ON grants.payment_id = payments.id
    WHERE payments.wallet = audited.wallet AND payments.pricing_plan_id = audited.pricing_plan_id
      AND ((payments.status = 'credited') <> (grants.id IS NOT NULL) OR payments.credits <> coalesce(grants.credits, payments.credits)))`,
}
export type Invariant = keyof typeof ACCOUNT_INVARIANTS
const invariants = Object.keys(ACCOUNT_INVARIANTS) as Invariant[]

const AUDIT = `
SELECT id, ${invariants.map((name) => `${ACCOUNT_INVARIANTS[name]} AS ${name}`).join(', ')}
FROM (SELECT * FROM accounts WHERE id > $1 ORDER BY id LIMIT $2) AS audited ORDER BY id`

const OVERDUE = `
SELECT (SELECT count(*) FROM payments WHERE status = 'settled' AND settled_at < now() - INTERVAL '1 minute') AS payments,
  (SELECT count(*) FROM reservations CROSS JOIN LATERAL (${RESERVED_CALLS}) AS call
    WHERE reservations.created_at < now() - INTERVAL '1 minute') AS calls`

export type Violation = { account: bigint; invariant: Invariant }

/** Audits at most `limit` accounts with ids above `after`. `last` is the cursor for the next batch, undefined at the end. */
export async function auditAccounts(
  { pool }: Pick<GatewayDatabase, 'pool'>,
  { after, limit }: { after: bigint; limit: number },
): Promise<{ violations: Violation[]; last: bigint | undefined }> {
  type Row = Record<Invariant, boolean> & { id: bigint }
  const { rows } = await pool.query<Row>({ name: 'audit', text: AUDIT, values: [after, limit] })
  const violations = rows.flatMap((row) =>
    invariants.filter((invariant) => row[invariant]).map((invariant) => ({ account: row.id, invariant })),
  )
  return { violations, last: rows.length < limit ? undefined : rows.at(-1)?.id }
}

async function findNextAccount({ pool }: Pick<GatewayDatabase, 'pool'>, after: bigint) {
  const text = 'SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT 1'
  return (await pool.query<{ id: bigint }>(text, [after])).rows[0]?.id
}

const RECORD = `
INSERT INTO reservations (first_call, last_call, replica_id, created_at)
SELECT id, id, replica_id, created_at FROM (${unrecordedCallsOf('$1')}) AS call ON CONFLICT DO NOTHING`

/**
 * Audits all accounts repeatedly, until stopped. Repairs what replicas of an older version leave: they spend without counting
 * the calls, and without recording their reservations.
 */
export function startAudit(parts: {
  database: Pick<GatewayDatabase, 'pool'>
  metrics: Metrics
  logger: Logger
  now: () => Date
  everyMs?: number
}) {
  const { database, metrics, logger, now, everyMs = INTERVAL_MS } = parts
  const violationCount = metrics.counter({
    name: 'tollgate_ledger_violations_total',
    help: 'Violations of ledger invariants found by the audit, again in each pass until they are repaired',
    labelNames: ['invariant'],
  })
  const violated = metrics.gauge({
    name: 'tollgate_ledger_violated_accounts',
    help: 'Accounts that violate an invariant, in the last complete pass of the audit or so far in this one, whichever has more',
    labelNames: ['invariant'],
  })
  const passed = metrics.gauge({
    name: 'tollgate_ledger_audit_timestamp_seconds',
    help: 'When this process last completed an audit of all accounts; 0 before its first',
  })
  for (const invariant of invariants) {
    violationCount.inc({ invariant }, 0)
    violated.set({ invariant }, 0)
  }
  const overdue = metrics.gauge({
    name: 'tollgate_ledger_overdue',
    help: 'Settled payments without credits, and unfinished calls, older than a minute',
    labelNames: ['kind'],
  })

  const repairs: Partial<Record<Invariant, (account: bigint) => Promise<unknown>>> = {
    async calls_are_miscounted(id) {
      const account = id.toString()
      const { before, after } = await recountCalls(database, id)
      if (before !== after) logger.warn('account calls recounted', { account, before, after })
    },
    async reserved_without_reservation(id) {
      const { rowCount: calls } = await database.pool.query(RECORD, [id])
      logger.warn('reserved calls recorded', { account: id.toString(), calls })
    },
  }
  const repair = async ({ account, invariant }: Violation) => {
    try {
      await repairs[invariant]?.(account)
      return repairs[invariant] !== undefined
    } catch (error) {
      logger.warn('account repair failed', { account: account.toString(), invariant, error })
      return false
    }
  }

  const none = () => new Map<Invariant, number>(invariants.map((invariant) => [invariant, 0]))
  let [lastPass, thisPass] = [none(), none()]
  /** A violation counts at once, and until a whole pass has not found it. */
  const exportViolated = () => {
    for (const [invariant, count] of thisPass)
      violated.set({ invariant }, Math.max(count, lastPass.get(invariant) ?? 0))
  }
  const endPass = () => {
    ;[lastPass, thisPass] = [thisPass, none()]
    exportViolated()
    passed.set(now().getTime() / 1000)
  }

  let after = 0n
  let limit = BATCH_SIZE
  const goOn = (last: bigint | undefined) => {
    after = last ?? 0n
    if (last === undefined) endPass()
  }
  const auditBatch = async () => {
    try {
      const { violations, last } = await auditAccounts(database, { after, limit })
      limit = Math.min(BATCH_SIZE, limit * 2)
      for (const violation of violations) {
        if (await repair(violation)) continue
        const { account, invariant } = violation
        violationCount.inc({ invariant })
        thisPass.set(invariant, (thisPass.get(invariant) ?? 0) + 1)
        logger.error('ledger invariant violated', { account: account.toString(), invariant })
      }
      exportViolated()
      goOn(last)
    } catch (error) {
      // Halve the batch until an account that fails by itself is isolated and skipped.
      if (limit > 1) limit = Math.ceil(limit / 2)
      else {
        const skipped = await findNextAccount(database, after)
        logger.warn('account audit failed, account skipped', { account: skipped?.toString() })
        goOn(skipped)
      }
      throw error
    }
  }

  return startInterval({
    everyMs,
    async work() {
      try {
        await auditBatch()
      } finally {
        const { rows } = await database.pool.query<{ payments: bigint; calls: bigint }>(OVERDUE)
        overdue.set({ kind: 'payments' }, Number(rows[0]?.payments ?? 0))
        overdue.set({ kind: 'calls' }, Number(rows[0]?.calls ?? 0))
      }
    },
    onError: (error) => logger.warn('ledger audit failed', { error }),
  })
}
