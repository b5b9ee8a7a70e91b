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

/** `named`: another payment has the transaction. */
export type CreditedSpent =
  | { outcome: 'credited' | 'confirmed'; payment: Dispute }
  | { outcome: 'named'; by: string }
  | { outcome: 'refused' }

/** Whatever the spelling of the hash. */
const SAME_TRANSACTION =
  "upper(regexp_replace(transaction, '^0x', '')) = upper(regexp_replace($2, '^0x', ''))"

/**
 * The payments that may be of the same transfer: of the same authorization, of the same transaction, or not credited yet. A payer's
 * transaction that is sent again is a payment of its own, and takes the nonce of the failed one, which keeps it with a suffix (see
 * `createRetry`). Locked, in order, so that of two of them only one is credited.
 */
const SAME_TRANSFER = `
WITH asked AS (SELECT chain_id, asset, payer, split_part(nonce, ' of ', 1) AS authorization_nonce FROM payments WHERE id = $1),
locked AS MATERIALIZED (
  SELECT other.id, other.status, other.transaction, split_part(other.nonce, ' of ', 1) = authorization_nonce AS is_same_authorization
  FROM payments other JOIN asked USING (chain_id, asset, payer)
  WHERE split_part(other.nonce, ' of ', 1) = authorization_nonce OR other.status <> 'credited' OR ${SAME_TRANSACTION}
  ORDER BY other.id FOR UPDATE OF other
),
open AS (SELECT * FROM locked WHERE id <> $1 AND status <> 'failed'),
named AS (
  SELECT id FROM open WHERE ${SAME_TRANSACTION} AND NOT EXISTS (SELECT FROM open WHERE is_same_authorization)
    AND EXISTS (SELECT FROM payments WHERE id = $1 AND ${IS_SPENT})
  ORDER BY id LIMIT 1
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

  /** Of the payment's plan; undefined if there is no such payment. */
  async findEcosystem(id: string): Promise<string | undefined> {
    const text = `SELECT ecosystem FROM payments JOIN pricing_plans ON pricing_plans.id = pricing_plan_id WHERE payments.id = $1`
    return (await pool.query<{ ecosystem: string }>(text, [id])).rows[0]?.ecosystem
  },

  /**
   * Credits a payment that failed because its authorization was used, unless another payment of that authorization may be credited,
   * or another payment of the payer has the transaction. `isShared`: the operator found a transfer for each of them in it; this is
   * also recorded for a payment that has been credited. A running gateway grants the credits.
   */
  async creditSpent(id: string, transaction: string, isShared: boolean): Promise<CreditedSpent> {
    const values = [id, transaction, isShared]
    const text = `${SAME_TRANSFER}, credited AS (
        UPDATE payments SET ${DECISIONS.credit}, error_detail = NULL, transaction = $2, updated_at = now(),
          transaction_from = CASE WHEN $3 THEN 'operator_shared' ELSE 'operator' END
        WHERE id = $1 AND id IN (SELECT id FROM locked) AND ${IS_SPENT} AND NOT EXISTS (SELECT FROM open WHERE is_same_authorization)
          AND ($3 OR NOT EXISTS (SELECT FROM named))
        RETURNING ${columns}
      )
      SELECT credited.*, (SELECT id FROM named) AS named FROM (VALUES (1)) AS always LEFT JOIN credited ON true`
    const { rows } = await pool.query<Dispute & { named: string | null }>(text, values)
    const [payment] = rows
    if (payment?.id) return { outcome: 'credited', payment }
    if (payment?.named && !isShared) return { outcome: 'named', by: payment.named }
    const confirm = `UPDATE payments SET transaction_from = 'operator_shared', updated_at = now()
      WHERE id = $1 AND status IN ('settled', 'credited') AND transaction_from = 'operator' AND ${SAME_TRANSACTION} AND $3
      RETURNING ${columns}`
    const [confirmed] = (await pool.query<Dispute>(confirm, values)).rows
    return confirmed ? { outcome: 'confirmed', payment: confirmed } : { outcome: 'refused' }
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
