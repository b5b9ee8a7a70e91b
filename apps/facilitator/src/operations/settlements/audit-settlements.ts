import { type Pool } from '@tollgate/database'

export type SettlementAudit = Awaited<ReturnType<typeof auditSettlements>>

/** What neither a constraint nor an index of the schema can say. */
const INVARIANTS = {
  'settled by a transaction that is not mined': `
    SELECT settlements.id FROM settlements JOIN transactions ON transactions.id = transaction_id AND hash = transaction_hash
    WHERE settlements.status = 'settled' AND transactions.status NOT IN ('mined', 'final')`,
  'a fee that is not the sum of its shares': `
    SELECT id FROM settlements
    WHERE fee <> (SELECT coalesce(sum(fee), 0) FROM fee_allocations WHERE settlement_id = settlements.id)`,
  'a transaction without its signed versions': `
    SELECT id FROM transactions WHERE NOT EXISTS (SELECT FROM transaction_versions WHERE transaction_id = transactions.id)`,
}

/** Of each kind, so that those of millions of rows fit in memory and on a screen. */
const MAX_LISTED = 1_000

const SIGNERS = `
SELECT network, signer, count(*) FILTER (WHERE status = 'signed') AS pending, max(nonce) AS nonce,
  max(nonce) - min(nonce) + 1 - count(DISTINCT nonce) AS gaps
FROM transactions WHERE nonce IS NOT NULL GROUP BY network, signer ORDER BY network, signer`

type SignerRow = { network: string; signer: string; pending: bigint; nonce: bigint; gaps: bigint }

/** All settlements and transactions, against what must hold of them. Reads only. */
export async function auditSettlements(pool: Pool) {
  const violations: string[] = []
  let violationCount = 0
  for (const [name, query] of Object.entries(INVARIANTS)) {
    const { rows } = await pool.query<{ id: bigint; total: bigint }>(
      `SELECT id, count(*) OVER () AS total FROM (${query}) AS violating ORDER BY id LIMIT ${MAX_LISTED}`,
    )
    const total = Number(rows[0]?.total ?? 0n)
    violations.push(...rows.map(({ id }) => `${name}: ${id}`))
    if (total > rows.length) violations.push(`${name}: ${total - rows.length} more`)
    violationCount += total
  }
  const states = await pool.query<{ status: string; count: bigint }>(
    'SELECT status, count(*) FROM settlements GROUP BY status ORDER BY status',
  )
  const newest = await pool.query<{ at: Date | null }>(
    'SELECT greatest((SELECT max(updated_at) FROM settlements), (SELECT max(signed_at) FROM transactions)) AS at',
  )
  const signers = await pool.query<SignerRow>(SIGNERS)
  return {
    newest: newest.rows[0]?.at ?? null,
    states: states.rows,
    signers: signers.rows,
    violations,
    violationCount,
  }
}

export function auditText({ newest, states, signers, violations, violationCount }: SettlementAudit): string {
  const lines = [
    ['newest row', newest?.toISOString() ?? 'none'],
    ['settlements', states.map(({ status, count }) => `${count} ${status}`).join(', ') || 'none'],
    ...signers.map(({ network, signer, pending, nonce, gaps }) => [
      'signer',
      `${signer} on ${network}: newest nonce ${nonce}, ${pending} pending, ${gaps} nonces that this database does not know`,
    ]),
    ['violations', violationCount === 0 ? 'none' : `${violationCount}`],
  ]
  const table = lines.map(([name = '', value = '']) => `${name.padEnd(13)}${value}`)
  return `${[...table, ...violations.map((violation) => `  ${violation}`)].join('\n')}\n`
}
