import { type Pool } from '@tollgate/database'

export type PendingTransactions = { network: string; signer: string; count: bigint }

/** A transaction signed by its payer uses no nonce of the signer. */
const PENDING = `
SELECT network, signer, count(*) AS count FROM transactions WHERE status = 'signed' AND nonce IS NOT NULL
GROUP BY network, signer`

/** By signer, also of those that are no longer configured. */
export const readPendingTransactions = async (pool: Pick<Pool, 'query'>): Promise<PendingTransactions[]> =>
  (await pool.query<PendingTransactions>({ name: 'pending-transactions', text: PENDING })).rows
