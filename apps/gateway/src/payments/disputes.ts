import { type Pool } from '@tollgate/database'

/** A payment whose money was moved otherwise than it was signed. */
export type Dispute = {
  id: string
  wallet: string
  planId: number
  network: string
  amount: string
  credits: number
  transaction: string | null
  updatedAt: Date
}

/** What an operator may decide about a disputed payment: its credits are granted, or it is over without. */
export type Decision = 'credit' | 'close'

const columns = `id, wallet, pricing_plan_id AS "planId", network, amount, credits, transaction, updated_at AS "updatedAt"`

const decisions: Record<Decision, string> = {
  credit: `status = 'settled', error_reason = NULL, settled_at = now(), next_attempt_at = now()`,
  close: `status = 'failed'`,
}

/** Disputed payments as operators see them, and what they may do. */
export const createDisputes = (pool: Pick<Pool, 'query'>) => ({
  /** Oldest first. */
  async list(limit: number): Promise<Dispute[]> {
    const text = `SELECT ${columns} FROM payments WHERE status = 'disputed' ORDER BY updated_at, id LIMIT $1`
    return (await pool.query<Dispute>(text, [limit])).rows
  },

  /** Idempotent: undefined where the payment is not disputed any more. The credits are granted by a gateway that runs. */
  async decide(id: string, decision: Decision): Promise<Dispute | undefined> {
    const text = `UPDATE payments SET ${decisions[decision]}, updated_at = now()
      WHERE id = $1 AND status = 'disputed' RETURNING ${columns}`
    return (await pool.query<Dispute>(text, [id])).rows[0]
  },
})
