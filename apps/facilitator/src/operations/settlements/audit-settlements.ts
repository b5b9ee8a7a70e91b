import { type Pool } from '@tollgate/database'

export type SettlementAudit = Awaited<ReturnType<typeof auditSettlements>>

const INVARIANTS = {
  'settled without a transaction':
    "SELECT id FROM settlements WHERE status = 'settled' AND transaction_hash IS NULL",
  'signed without a transaction':
    "SELECT id FROM settlements WHERE status = 'signed' AND transaction_id IS NULL",
  'failed without a reason': "SELECT id FROM settlements WHERE status = 'failed' AND error_reason IS NULL",
  'a success that was reported, of a settlement that never settled': `
    SELECT id FROM settlements WHERE success_reported_at IS NOT NULL AND status NOT IN ('settled', 'reversed')`,
  'a nonce used by two transactions': `
    SELECT max(id) AS id FROM transactions WHERE nonce IS NOT NULL AND status <> 'superseded'
    GROUP BY network, signer, nonce HAVING count(*) > 1`,
  'a transaction without its signed versions': `
    SELECT id FROM transactions WHERE NOT EXISTS (SELECT FROM transaction_versions WHERE transaction_id = transactions.id)`,
}

const SIGNERS = `
SELECT network, signer, count(*) FILTER (WHERE status = 'signed') AS pending, max(nonce) AS nonce,
  max(nonce) - min(nonce) + 1 - count(DISTINCT nonce) AS gaps
FROM transactions WHERE nonce IS NOT NULL GROUP BY network, signer ORDER BY network, signer`

type SignerRow = { network: string; signer: string; pending: bigint; nonce: bigint; gaps: bigint }

/** All settlements and transactions, against what must hold of them. Reads only. */
export async function auditSettlements(pool: Pool) {
  const violations: string[] = []
  for (const [name, query] of Object.entries(INVARIANTS)) {
    const { rows } = await pool.query<{ id: bigint }>(query)
    violations.push(...rows.map(({ id }) => `${name}: ${id}`))
  }
  const states = await pool.query<{ status: string; count: bigint }>(
    'SELECT status, count(*) FROM settlements GROUP BY status ORDER BY status',
  )
  const newest = await pool.query<{ at: Date | null }>(
    'SELECT greatest((SELECT max(updated_at) FROM settlements), (SELECT max(signed_at) FROM transactions)) AS at',
  )
  const signers = await pool.query<SignerRow>(SIGNERS)
  return { newest: newest.rows[0]?.at ?? null, states: states.rows, signers: signers.rows, violations }
}

export function auditText({ newest, states, signers, violations }: SettlementAudit): string {
  const lines = [
    ['newest row', newest?.toISOString() ?? 'none'],
    ['settlements', states.map(({ status, count }) => `${count} ${status}`).join(', ') || 'none'],
    ...signers.map(({ network, signer, pending, nonce, gaps }) => [
      'signer',
      `${signer} on ${network}: newest nonce ${nonce}, ${pending} pending, ${gaps} nonces that this database does not know`,
    ]),
    ['violations', violations.length === 0 ? 'none' : `${violations.length}`],
  ]
  const table = lines.map(([name = '', value = '']) => `${name.padEnd(13)}${value}`)
  return `${[...table, ...violations.map((violation) => `  ${violation}`)].join('\n')}\n`
}
