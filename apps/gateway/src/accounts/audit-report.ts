import { type GatewayDatabase } from '@tollgate/database'
import { auditAccounts, type Violation } from './audit'

const BATCH_SIZE = 100

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

/** Checks that hold for payments of any account. */
const PAYMENT_INVARIANTS = {
  payment_granted_twice: 'SELECT payment_id FROM grants GROUP BY payment_id HAVING count(*) > 1',
  credited_without_transaction: "SELECT id FROM payments WHERE status = 'credited' AND transaction IS NULL",
}

/** All accounts and payments, against the invariants of the ledger. Reads only. */
export async function auditLedger(database: Pool) {
  const { pool } = database
  const violations: Violation[] = []
  for (let after: bigint | undefined = 0n; after !== undefined;) {
    const batch = await auditAccounts(database, { after, limit: BATCH_SIZE })
    violations.push(...batch.violations)
    after = batch.last
  }
  const { rows } = await pool.query<Totals>(TOTALS)
  const [totals] = rows
  if (!totals) throw new Error('The totals are missing')
  const payments = await pool.query<{ status: string; count: bigint }>(
    'SELECT status, count(*) FROM payments GROUP BY status ORDER BY status',
  )
  const found: string[] = violations.map(({ account, invariant }) => `account ${account}: ${invariant}`)
  for (const [name, query] of Object.entries(PAYMENT_INVARIANTS)) {
    const { rowCount } = await pool.query(query)
    if (rowCount) found.push(`${rowCount} × ${name}`)
  }
  return { totals, payments: payments.rows, violations: found }
}

export function auditText({ totals, payments, violations }: AuditReport): string {
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
    ['violations', violations.length === 0 ? 'none' : `${violations.length}`],
  ]
  const table = lines.map(([name = '', value = '']) => `${name.padEnd(12)}${value}`)
  return `${[...table, ...violations.map((violation) => `  ${violation}`)].join('\n')}\n`
}
