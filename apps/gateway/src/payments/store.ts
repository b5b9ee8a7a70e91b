import { type GatewayDatabase } from '@tollgate/database'
import { SettleRequest } from '@tollgate/protocol'
import { randomUUID } from 'node:crypto'
import { type Plan } from '../catalog/catalog'

export type PaymentStatus = 'received' | 'settling' | 'settled' | 'credited' | 'failed'

/** A payment on its way: received -> settling -> settled -> credited | failed. */
export type PaymentRecord = {
  id: string
  wallet: string
  planId: number
  network: string
  payer: string
  amount: string
  credits: number
  status: PaymentStatus
  transaction: string | null
  blockNumber: bigint | null
  errorReason: string | null
  attempts: number
  createdAt: Date
  /** Always as the database gives it back, so that the facilitator is asked the same thing each time. */
  request: SettleRequest
}

const columns = `id, wallet, pricing_plan_id AS "planId", network, payer, amount, credits, status, transaction,
  block_number AS "blockNumber", error_reason AS "errorReason", attempts, created_at AS "createdAt", request`

/** Longer than an authorization lasts; one that is stuck for other reasons must not close the wallet out for ever. */
const OPEN_FOR = '15 minutes'

export type PaymentStore = ReturnType<typeof createPaymentStore>

/** Every transition is one statement that names the status it starts from: of two who try, one succeeds. */
export function createPaymentStore({ pool }: GatewayDatabase) {
  const query = async (name: string, text: string, values: unknown[]) =>
    (await pool.query<PaymentRecord>({ name: `payment-${name}`, text, values })).rows.map((row) => ({
      ...row,
      request: SettleRequest.parse(row.request),
    }))

  return {
    /** Writes a payment down; the one already there if this authorization was seen before, whoever brought it. */
    async receive(payment: {
      wallet: string
      plan: Plan
      payer: string
      nonce: string
      request: SettleRequest
    }): Promise<PaymentRecord> {
      const { wallet, plan, payer, nonce, request } = payment
      const key = [plan.chainId, plan.asset, payer, nonce]
      const [received] = await query(
        'receive',
        `INSERT INTO payments (id, wallet, pricing_plan_id, network, chain_id, asset, payer, nonce, amount, pay_to, credits, request, updated_at)
         VALUES ($5, $6, $7, $8, $1, $2, $3, $4, $9, $10, $11, $12, now())
         ON CONFLICT (chain_id, asset, payer, nonce) DO NOTHING RETURNING ${columns}`,
        [
          ...key,
          randomUUID(),
          wallet,
          plan.id,
          plan.network,
          plan.amount.toString(),
          plan.payTo,
          plan.credits,
          JSON.stringify(request),
        ],
      )
      if (received) return received
      const where = 'chain_id = $1 AND asset = $2 AND payer = $3 AND nonce = $4'
      const [known] = await query('known', `SELECT ${columns} FROM payments WHERE ${where}`, key)
      if (!known) throw new Error('A payment that is there could not be read')
      return known
    },

    async find(id: string): Promise<PaymentRecord | undefined> {
      return (await query('find', `SELECT ${columns} FROM payments WHERE id = $1`, [id]))[0]
    },

    /** Payments that wait for somebody to take them further, longest waiting first. */
    async due(limit: number): Promise<string[]> {
      const text = `SELECT id FROM payments WHERE status IN ('received', 'settling', 'settled') AND next_attempt_at <= now()
        ORDER BY status = 'settled' DESC, next_attempt_at LIMIT $1`
      return (await pool.query<{ id: string }>({ name: 'payment-due', text, values: [limit] })).rows.map(
        ({ id }) => id,
      )
    },

    /**
     * Where a wallet stands on a plan, at one moment: whether a payment may still take its money, so that asking for
     * another would charge it twice, and the credits that the payments before it have brought.
     */
    async standing(wallet: string, planId: number): Promise<{ isPaying: boolean; balance: bigint }> {
      const text = `SELECT
        EXISTS (SELECT FROM payments WHERE wallet = $1 AND pricing_plan_id = $2 AND status IN ('received', 'settling', 'settled')
          AND created_at > now() - interval '${OPEN_FOR}') AS "isPaying",
        coalesce((SELECT balance FROM accounts WHERE wallet = $1 AND pricing_plan_id = $2), 0) AS balance`
      const { rows } = await pool.query<{ isPaying: boolean; balance: bigint }>({
        name: 'payment-standing',
        text,
        values: [wallet, planId],
      })
      return rows[0] ?? { isPaying: false, balance: 0n }
    },

    /** Takes the right to ask the facilitator about a payment, for `seconds`; undefined where somebody else has it. */
    async lease(id: string, seconds: number): Promise<PaymentRecord | undefined> {
      const [leased] = await query(
        'lease',
        `UPDATE payments SET status = 'settling', attempts = attempts + 1, updated_at = now(),
           next_attempt_at = now() + make_interval(secs => $2)
         WHERE id = $1 AND status IN ('received', 'settling') AND next_attempt_at <= now() RETURNING ${columns}`,
        [id, seconds],
      )
      return leased
    },

    /** Money that was taken counts, even where another replica, asking at the same time, was told that it would not be. */
    async settled(id: string, transaction: string, blockNumber: number): Promise<void> {
      await query(
        'settled',
        `UPDATE payments SET status = 'settled', transaction = $2, block_number = $3, error_reason = NULL,
           settled_at = now(), updated_at = now(), next_attempt_at = now()
         WHERE id = $1 AND status IN ('settling', 'failed') RETURNING ${columns}`,
        [id, transaction, blockNumber],
      )
    },

    async failed(id: string, reason: string): Promise<void> {
      await query(
        'failed',
        `UPDATE payments SET status = 'failed', error_reason = $2, updated_at = now()
         WHERE id = $1 AND status = 'settling' RETURNING ${columns}`,
        [id, reason],
      )
    },

    /** Still unknown: to be asked about again in `seconds`. */
    async later(id: string, reason: string, transaction: string | null, seconds: number): Promise<void> {
      await query(
        'later',
        `UPDATE payments SET error_reason = $2, transaction = coalesce($3, transaction), updated_at = now(),
           next_attempt_at = now() + make_interval(secs => $4)
         WHERE id = $1 AND status = 'settling' RETURNING ${columns}`,
        [id, reason, transaction, seconds],
      )
    },
  }
}
