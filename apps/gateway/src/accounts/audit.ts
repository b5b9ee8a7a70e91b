import { type GatewayDatabase } from '@tollgate/database'
import { repeat, type Logger, type Metrics } from '@tollgate/service'

/** An account's whole history is added up each time, so this is done seldom and for few at a time. */
const EVERY_MS = 60_000
const AT_ONCE = 100

/**
 * What must hold of every account at any time, as queries that name those of which it does not. Each takes the accounts
 * with an id above $1, $2 of them at most, and sees them at one moment.
 */
const ofAccounts = {
  balance_is_negative: 'audited.balance < 0',
  balance_is_not_grants_and_refunds_less_usage: `audited.balance <>
    (SELECT coalesce(sum(credits), 0) FROM grants WHERE account_id = audited.id)
    - (SELECT coalesce(sum(credits), 0) FROM usage WHERE account_id = audited.id AND state <> 'refunded')`,
  calls_are_miscounted: 'audited.calls <> (SELECT count(*) FROM usage WHERE account_id = audited.id)',
  credited_without_grant: `EXISTS (
    SELECT FROM payments LEFT JOIN grants ON grants.payment_id = payments.id
    WHERE payments.wallet = audited.wallet AND payments.pricing_plan_id = audited.pricing_plan_id
      AND ((payments.status = 'credited') <> (grants.id IS NOT NULL) OR payments.credits <> coalesce(grants.credits, payments.credits)))`,
}
export type Invariant = keyof typeof ofAccounts
const invariants = Object.keys(ofAccounts) as Invariant[]

const AUDIT = `
SELECT id, ${invariants.map((name) => `${ofAccounts[name]} AS ${name}`).join(', ')}
FROM (SELECT * FROM accounts WHERE id > $1 ORDER BY id LIMIT $2) AS audited ORDER BY id`

/** What somebody should have ended within a minute. */
const OVERDUE = `
SELECT (SELECT count(*) FROM payments WHERE status = 'settled' AND settled_at < now() - interval '1 minute') AS payments,
  (SELECT count(*) FROM usage WHERE state = 'reserved' AND created_at < now() - interval '1 minute') AS calls`

export type Violation = { account: bigint; invariant: Invariant }

/** The accounts after `after`, `limit` at most, of which an invariant does not hold; `last` is where to go on, undefined at the end. */
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

/** Goes through all accounts again and again, a few at a time, and tells logs and metrics what does not hold, until stopped. */
export function startAudit(parts: {
  database: Pick<GatewayDatabase, 'pool'>
  metrics: Metrics
  logger: Logger
}) {
  const { database, metrics, logger } = parts
  const violated = metrics.counter({
    name: 'ledger_violations_total',
    help: 'Accounts found of which an invariant of the ledger does not hold; anything above zero is an alarm',
    labelNames: ['invariant'],
  })
  for (const invariant of invariants) violated.inc({ invariant }, 0)
  const overdue = metrics.gauge({
    name: 'ledger_overdue',
    help: 'Settled payments without their credits, and calls without an end, that are older than a minute',
    labelNames: ['kind'],
  })
  let after = 0n
  return repeat({
    everyMs: EVERY_MS,
    async work() {
      const { violations, last } = await auditAccounts(database, { after, limit: AT_ONCE })
      after = last ?? 0n
      for (const { account, invariant } of violations) {
        violated.inc({ invariant })
        logger.error('an invariant of the ledger does not hold', { account: account.toString(), invariant })
      }
      const { rows } = await database.pool.query<{ payments: bigint; calls: bigint }>(OVERDUE)
      overdue.set({ kind: 'payments' }, Number(rows[0]?.payments ?? 0))
      overdue.set({ kind: 'calls' }, Number(rows[0]?.calls ?? 0))
    },
    onError: (error) => logger.warn('the ledger could not be audited', { error }),
  })
}
