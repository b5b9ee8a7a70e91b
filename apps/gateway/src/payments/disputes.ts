import { type Pool } from '@tollgate/database'

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

/** Grant the credits, or close the payment without. */
export type Decision = 'credit' | 'close'

const columns = `id, wallet, pricing_plan_id AS "planId", network, amount, credits, transaction, updated_at AS "updatedAt"`

const DECISIONS: Record<Decision, string> = {
  credit: `status = 'settled', error_reason = NULL, settled_at = now(), next_attempt_at = now()`,
  close: `status = 'failed'`,
}

/**
 * Their authorization had been used when they came: by another seller, or by us before a restored backup. The facilitator calls one
 * that it has settled `duplicate_settlement`: it knows more than our database if only ours was restored.
 */
const IS_SPENT = `status = 'failed' AND error_reason IN ('invalid_transaction_state', 'duplicate_settlement')`

/**
 * A payer's transaction that is sent again is a payment of its own, and takes the nonce of the failed one, which keeps it with a
 * suffix (see `createRetry`). Locked, in order, so that of two of them only one is credited.
 */
const SAME_AUTHORIZATION = `
WITH asked AS (SELECT chain_id, asset, payer, split_part(nonce, ' of ', 1) AS nonce FROM payments WHERE id = $1),
same AS MATERIALIZED (
  SELECT other.id, other.status FROM payments other JOIN asked USING (chain_id, asset, payer)
  WHERE split_part(other.nonce, ' of ', 1) = asked.nonce ORDER BY other.id FOR UPDATE OF other
)`

export const createDisputes = (pool: Pick<Pool, 'query'>) => ({
  /** Oldest first, in pages: `after` is the last of the page before. */
  async list(limit: number, after?: Dispute): Promise<Dispute[]> {
    const text = `SELECT ${columns} FROM payments WHERE status = 'disputed'
      AND ($2::timestamptz IS NULL OR (updated_at, id) > ($2, $3::uuid)) ORDER BY updated_at, id LIMIT $1`
    return (await pool.query<Dispute>(text, [limit, after?.updatedAt, after?.id])).rows
  },

  /** Newest first, likewise. */
  async listSpent(limit: number, after?: Dispute): Promise<Dispute[]> {
    const text = `SELECT ${columns} FROM payments WHERE ${IS_SPENT}
      AND ($2::timestamptz IS NULL OR (updated_at, id) < ($2, $3::uuid)) ORDER BY updated_at DESC, id DESC LIMIT $1`
    return (await pool.query<Dispute>(text, [limit, after?.updatedAt, after?.id])).rows
  },

  /**
   * Idempotent: returns undefined unless the payment failed because its authorization was used, and no other payment of that
   * authorization may be credited. A running gateway grants the credits.
   */
  async creditSpent(id: string, transaction: string): Promise<Dispute | undefined> {
    const text = `${SAME_AUTHORIZATION}
      UPDATE payments SET ${DECISIONS.credit}, error_detail = NULL, transaction = $2, updated_at = now()
      WHERE id = $1 AND ${IS_SPENT} AND NOT EXISTS (SELECT FROM same WHERE id <> $1 AND status <> 'failed')
      RETURNING ${columns}`
    return (await pool.query<Dispute>(text, [id, transaction])).rows[0]
  },

  /** Idempotent: returns undefined if the payment is no longer disputed. A running gateway grants the credits. */
  async resolve(id: string, decision: Decision): Promise<Dispute | undefined> {
    const text = `WITH resolved AS (
        UPDATE payments SET ${DECISIONS[decision]}, updated_at = now()
        WHERE id = $1 AND status = 'disputed' RETURNING ${columns}, status
      ), freed AS (
        DELETE FROM payment_identifiers WHERE payment_id = (SELECT id FROM resolved WHERE status = 'failed')
      )
      SELECT id, wallet, "planId", network, amount, credits, transaction, "updatedAt" FROM resolved`
    return (await pool.query<Dispute>(text, [id])).rows[0]
  },
})
