import { type GatewayDatabase } from '@tollgate/database'

/** Where payments are made. */
export type PaymentNetwork = { network: string; chainId: string }

/** A payment on its network: the payer signs each nonce once for an asset. */
export type PaymentReference = { asset: string; payer: string; nonce: string }

export type ReversedPayment = PaymentReference & { id: string; reversedAt: Date }

type ChangedPayment = {
  id: string
  wallet: string
  planId: number
  payer: string
  amount: string
  credits: number
  transaction: string | null
}

const CHANGED = `payments.id, payments.wallet, payments.pricing_plan_id AS "planId", payments.payer, payments.amount,
  payments.credits, payments.transaction`

/** $1 network, $2 chain, then assets, payers and nonces. Locks in the order of ids, as another replica may do the same. */
const RECORD = `
WITH named AS MATERIALIZED (
  SELECT id FROM payments JOIN unnest($3::text[], $4::text[], $5::text[]) AS told (asset, payer, nonce) USING (asset, payer, nonce)
  WHERE network = $1 AND chain_id = $2 AND status IN ('settled', 'credited') AND reversed_at IS NULL
  ORDER BY id FOR NO KEY UPDATE OF payments
)
UPDATE payments SET reversed_at = now(), updated_at = now()
FROM named WHERE payments.id = named.id AND reversed_at IS NULL
RETURNING ${CHANGED}`

const FIND_REVERSED = `
SELECT id, asset, payer, nonce, reversed_at AS "reversedAt" FROM payments
WHERE network = $1 AND chain_id = $2 AND reversed_at > now() - make_interval(days => $3)
  AND NOT EXISTS (
    SELECT FROM unnest($4::text[], $5::text[], $6::text[]) AS told (asset, payer, nonce)
    WHERE told.asset = payments.asset AND told.payer = payments.payer AND told.nonce = payments.nonce)
ORDER BY reversed_at DESC LIMIT $7`

const CLEAR = `
UPDATE payments SET reversed_at = NULL, transaction = coalesce($3, transaction), block_number = coalesce($4, block_number),
  updated_at = now()
WHERE id = $1 AND reversed_at = $2
RETURNING ${CHANGED}`

const columnsOf = (told: readonly PaymentReference[]) => [
  told.map(({ asset }) => asset),
  told.map(({ payer }) => payer),
  told.map(({ nonce }) => nonce),
]

export type ReversalStore = ReturnType<typeof createReversalStore>

export function createReversalStore({ pool }: Pick<GatewayDatabase, 'pool'>) {
  return {
    async findNetworks(): Promise<PaymentNetwork[]> {
      const text =
        'SELECT DISTINCT network, chain_id AS "chainId" FROM pricing_plans ORDER BY network, chain_id'
      return (await pool.query<PaymentNetwork>(text)).rows
    },

    /** Records that these payments are reversed, and returns those that were not. Touches only settled ones. */
    async record(
      { network, chainId }: PaymentNetwork,
      told: readonly PaymentReference[],
    ): Promise<ChangedPayment[]> {
      const values = [network, chainId, ...columnsOf(told)]
      return (await pool.query<ChangedPayment>({ name: 'reversals-record', text: RECORD, values })).rows
    },

    /** Recorded in the last `days`, and not among `told`; the newest first. */
    async findOthers(
      { network, chainId }: PaymentNetwork,
      { told, days, limit }: { told: readonly PaymentReference[]; days: number; limit: number },
    ): Promise<ReversedPayment[]> {
      const values = [network, chainId, days, ...columnsOf(told), limit]
      return (await pool.query<ReversedPayment>({ name: 'reversals-find', text: FIND_REVERSED, values })).rows
    },

    /** Undefined if another replica did it. */
    async clear(
      { id, reversedAt }: ReversedPayment,
      { transaction, block }: { transaction: string | null; block: number | null },
    ): Promise<ChangedPayment | undefined> {
      const values = [id, reversedAt, transaction, block]
      return (await pool.query<ChangedPayment>({ name: 'reversals-clear', text: CLEAR, values })).rows[0]
    },

    async countOfLastDay(): Promise<number> {
      const text = `SELECT count(*)::int AS count FROM payments WHERE reversed_at > now() - interval '1 day'`
      return (await pool.query<{ count: number }>(text)).rows[0]?.count ?? 0
    },
  }
}
