import { type Pool } from '@tollgate/database'
import { type FeeShare, type Spender, type Spent } from './fee-allowance'
import { type Session } from '../session'

/** Counts transactions as `feesOfDay` of the signing store does. */
const SPENT = `
WITH counted AS (
  SELECT id, CASE WHEN fee IS NULL OR is_fee_grant THEN max_fee ELSE fee END AS fees FROM transactions
  WHERE network = $1 AND max_fee > 0 AND nonce IS NOT NULL AND (status <> 'superseded' OR is_fee_grant)
    AND signed_at > now() - INTERVAL '1 day'
)
SELECT f.client_id AS "clientId", c.user_id AS "userId", u.fee_share_bps IS NULL AS "isNew",
  sum(ceil(t.fees * f.part / f.whole)) AS fees, min(ceil(t.fees * f.part / f.whole / f.payments)) AS cheapest
FROM counted t JOIN fee_shares f ON f.transaction_id = t.id
  JOIN clients c ON c.client_id = f.client_id JOIN users u ON u.id = c.user_id
GROUP BY f.client_id, c.user_id, u.fee_share_bps`

export type FeeShareStore = ReturnType<typeof createFeeShareStore>

/** Fees by client key. Statements on a `session` are part of the database transaction open there. */
export function createFeeShareStore(pool: Pool) {
  return {
    async spent(network: string, session: Session = pool): Promise<Spent[]> {
      const { rows } = await session.query<
        Omit<Spent, 'fees' | 'cheapest'> & Record<'fees' | 'cheapest', string>
      >(SPENT, [network])
      return rows.map(({ fees, cheapest, ...row }) => ({
        ...row,
        fees: BigInt(fees),
        cheapest: BigInt(cheapest),
      }))
    },

    async spenders(session: Session, clientIds: readonly string[]): Promise<Spender[]> {
      const { rows } = await session.query<Omit<Spender, 'maxFeesPerDay'> & { maxFeesPerDay: string | null }>(
        `SELECT c.client_id AS "clientId", c.user_id AS "userId", c.fee_share_bps AS "feeShareBps",
           c.max_fees_per_day AS "maxFeesPerDay", u.fee_share_bps AS "userFeeShareBps"
         FROM clients c JOIN users u ON u.id = c.user_id WHERE c.client_id = ANY($1)`,
        [clientIds],
      )
      return rows.map(({ maxFeesPerDay, ...spender }) => ({
        ...spender,
        maxFeesPerDay: maxFeesPerDay === null ? null : BigInt(maxFeesPerDay),
      }))
    },

    /** The transaction must be stored in the same database transaction. */
    async record(session: Session, hash: string, parts: readonly FeeShare[]): Promise<void> {
      await session.query(
        `INSERT INTO fee_shares (transaction_id, client_id, payments, part, whole)
         SELECT t.id, p.client_id, p.payments, p.part, sum(p.part) OVER ()
         FROM transactions t, unnest($2::text[], $3::int[], $4::numeric[]) AS p (client_id, payments, part)
         WHERE t.hash = $1
         ON CONFLICT (transaction_id, client_id)
         DO UPDATE SET payments = EXCLUDED.payments, part = EXCLUDED.part, whole = EXCLUDED.whole`,
        [
          hash,
          parts.map(({ clientId }) => clientId),
          parts.map(({ payments }) => payments),
          parts.map(({ part }) => part.toString()),
        ],
      )
    },
  }
}
