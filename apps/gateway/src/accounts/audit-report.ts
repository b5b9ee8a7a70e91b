import { type GatewayDatabase } from '@tollgate/database'
import { FREE_PLAN_ID } from '@tollgate/protocol'
import { auditAccounts, type Violation } from './audit'

const BATCH_SIZE = 100
/** Of the accounts, so that a broken ledger of millions fits in memory and on a screen. */
const MAX_LISTED = 1_000

type Pool = Pick<GatewayDatabase, 'pool'>

export type AuditReport = Awaited<ReturnType<typeof auditLedger>>

const TOTALS = `
SELECT (SELECT count(*) FROM accounts) AS accounts,
  (SELECT coalesce(sum(balance), 0) FROM accounts) AS balance,
  (SELECT coalesce(sum(credits), 0) FROM grants) AS granted,
  (SELECT coalesce(sum(credits) FILTER (WHERE state = 'refunded'), 0) FROM usage) AS refunded,
  (SELECT coalesce(sum(credits), 0) FROM usage) AS used,
  (SELECT coalesce(sum(archived_credits), 0) FROM accounts) AS archived,
  (SELECT count(*) FROM sessions WHERE revoked_at IS NULL) AS sessions,
  (SELECT count(*) FROM access_keys WHERE deleted_at IS NULL) AS keys,
  greatest((SELECT max(created_at) FROM payments), (SELECT max(created_at) FROM usage), (SELECT max(created_at) FROM sessions)) AS newest`

type Totals = Record<
  'accounts' | 'balance' | 'granted' | 'refunded' | 'used' | 'archived' | 'sessions' | 'keys',
  bigint | string
> & { newest: Date | null }

/** Checks that hold for grants and payments of any account. */
const GRANT_INVARIANTS = {
  payment_granted_twice:
    'SELECT payment_id FROM grants WHERE payment_id IS NOT NULL GROUP BY payment_id HAVING count(*) > 1',
  free_credits_mixed_with_bought_ones: `
    SELECT grants.id FROM grants JOIN accounts ON accounts.id = account_id
    WHERE (payment_id IS NULL) <> (pricing_plan_id = ${FREE_PLAN_ID})`,
  free_credits_miscounted: `
    SELECT day FROM free_credit_days FULL JOIN (
      SELECT (created_at AT TIME ZONE 'UTC')::date AS day, sum(credits) AS granted FROM grants WHERE payment_id IS NULL GROUP BY 1
    ) AS granted USING (day) WHERE coalesce(given, 0) <> coalesce(granted, 0)`,
  credited_without_account: `
    SELECT id FROM payments WHERE status = 'credited' AND NOT EXISTS (
      SELECT FROM accounts WHERE accounts.wallet = payments.wallet AND accounts.pricing_plan_id = payments.pricing_plan_id)`,
  credited_without_transaction: "SELECT id FROM payments WHERE status = 'credited' AND transaction IS NULL",
  // A batch of the facilitator can hold several payments of a payer, so its word is no violation.
  transaction_named_for_two_payments: `
    SELECT id FROM payments one WHERE transaction_from = 'operator' AND status IN ('settled', 'credited') AND EXISTS (
      SELECT FROM payments other WHERE other.chain_id = one.chain_id AND other.asset = one.asset AND other.payer = one.payer
        AND other.id <> one.id AND other.status IN ('settled', 'credited') AND other.transaction_from IS DISTINCT FROM 'operator_shared'
        AND upper(other.transaction) = upper(one.transaction))`,
}

/** All accounts and payments, against the invariants of the ledger. Reads only. */
export async function auditLedger(database: Pool) {
  const { pool } = database
  const violations: Violation[] = []
  let violationCount = 0
  for (let after: bigint | undefined = 0n; after !== undefined;) {
    const batch = await auditAccounts(database, { after, limit: BATCH_SIZE })
    violationCount += batch.violations.length
    violations.push(...batch.violations.slice(0, MAX_LISTED - violations.length))
    after = batch.last
  }
  const { rows } = await pool.query<Totals>(TOTALS)
  const [totals] = rows
  if (!totals) throw new Error('The totals are missing')
  const payments = await pool.query<{ status: string; count: bigint }>(
    'SELECT status, count(*) FROM payments GROUP BY status ORDER BY status',
  )
  const found: string[] = violations.map(({ account, invariant }) => `account ${account}: ${invariant}`)
  if (violationCount > violations.length)
    found.push(`accounts: ${violationCount - violations.length} more violations`)
  for (const [name, query] of Object.entries(GRANT_INVARIANTS)) {
    const counted = await pool.query<{ count: bigint }>(`SELECT count(*) FROM (${query}) AS violating`)
    const count = Number(counted.rows[0]?.count ?? 0n)
    if (count > 0) found.push(`${count} × ${name}`)
    violationCount += count
  }
  return { totals, payments: payments.rows, violations: found, violationCount }
}

export function auditText({ totals, payments, violations, violationCount }: AuditReport): string {
  const { accounts, balance, granted, refunded, used, archived, sessions, keys, newest } = totals
  const states = payments.map(({ status, count }) => `${count} ${status}`)
  const lines = [
    ['newest row', newest?.toISOString() ?? 'none'],
    ['accounts', `${accounts}`],
    [
      'credits',
      `${granted} granted + ${refunded} refunded - ${used} used - ${archived} of deleted calls = ${balance} left`,
    ],
    ['payments', states.join(', ') || 'none'],
    ['access', `${sessions} sessions, ${keys} access keys`],
    ['violations', violationCount === 0 ? 'none' : `${violationCount}`],
  ]
  const table = lines.map(([name = '', value = '']) => `${name.padEnd(12)}${value}`)
  return `${[...table, ...violations.map((violation) => `  ${violation}`)].join('\n')}\n`
}
