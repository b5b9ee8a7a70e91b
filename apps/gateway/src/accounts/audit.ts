import { type GatewayDatabase } from '@tollgate/database'
import { repeat, type Logger, type Metrics } from '@tollgate/service'
import { recount } from './recount'

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
    (SELECT coalesce(sum(credits), 0) FROM grants WHERE account_id = audited.id) - audited.archived_credits
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

async function accountAfter({ pool }: Pick<GatewayDatabase, 'pool'>, after: bigint) {
  const text = 'SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT 1'
  return (await pool.query<{ id: bigint }>(text, [after])).rows[0]?.id
}

/**
 * Goes through all accounts again and again, a few at a time, and tells logs and metrics what does not hold, until stopped.
 * Calls that are miscounted are counted again, for replicas of an older version spend without counting.
 */
export function startAudit(parts: {
  database: Pick<GatewayDatabase, 'pool'>
  metrics: Metrics
  logger: Logger
  everyMs?: number
}) {
  const { database, metrics, logger, everyMs = EVERY_MS } = parts
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

  const isMended = async ({ account, invariant }: Violation) => {
    if (invariant !== 'calls_are_miscounted') return false
    try {
      const { before, after } = await recount(database, account)
      if (before !== after)
        logger.warn('calls of an account counted again', { account: account.toString(), before, after })
      return true
    } catch (error) {
      logger.warn('calls of an account could not be counted again', { account: account.toString(), error })
      return false
    }
  }

  let after = 0n
  let limit = AT_ONCE
  const auditNext = async () => {
    try {
      const { violations, last } = await auditAccounts(database, { after, limit })
      after = last ?? 0n
      limit = Math.min(AT_ONCE, limit * 2)
      for (const violation of violations) {
        if (await isMended(violation)) continue
        const { account, invariant } = violation
        violated.inc({ invariant })
        logger.error('an invariant of the ledger does not hold', { account: account.toString(), invariant })
      }
    } catch (error) {
      // What fails is tried with fewer, so that an account which fails by itself keeps no other from its audit.
      if (limit > 1) limit = Math.ceil(limit / 2)
      else {
        const passedOver = await accountAfter(database, after)
        logger.warn('an account could not be audited', { account: passedOver?.toString() })
        after = passedOver ?? 0n
      }
      throw error
    }
  }

  return repeat({
    everyMs,
    async work() {
      try {
        await auditNext()
      } finally {
        const { rows } = await database.pool.query<{ payments: bigint; calls: bigint }>(OVERDUE)
        overdue.set({ kind: 'payments' }, Number(rows[0]?.payments ?? 0))
        overdue.set({ kind: 'calls' }, Number(rows[0]?.calls ?? 0))
      }
    },
    onError: (error) => logger.warn('the ledger could not be audited', { error }),
  })
}
