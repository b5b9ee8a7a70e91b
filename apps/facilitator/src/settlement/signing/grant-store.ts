import { type Pool } from '@tollgate/database'
import { type Session } from '../session'
import { type UnusedGrants } from './grant-budget'

/**
 * $1 network, $2 settlements that need another grant now. Only the newest grant of a settlement can be used: the ones before it are
 * wasted, whatever becomes of the settlement.
 */
const GRANTED = `
granted AS (
  SELECT g.client_id, c.user_id, s.payer, g.part, g.is_unproven, t.is_fee_grant,
    l.is_last AND s.status = 'settled' AS is_used,
    l.is_last AND s.status IN ('claimed', 'signed') AND s.created_at <= t.signed_at AND s.id <> ALL($2) AS is_pending
  FROM transactions t JOIN fee_grants g ON g.transaction_id = t.id
    JOIN settlements s ON s.id = g.settlement_id JOIN clients c ON c.client_id = g.client_id
    CROSS JOIN LATERAL (
      SELECT NOT EXISTS (
        SELECT FROM fee_grants o WHERE o.settlement_id = g.settlement_id AND o.transaction_id > g.transaction_id
      ) AS is_last) l
  WHERE t.network = $1 AND t.max_fee > 0 AND t.nonce IS NOT NULL AND (t.status <> 'superseded' OR t.is_fee_grant)
    AND t.signed_at > now() - INTERVAL '1 day'
)`

const UNUSED = `
WITH ${GRANTED}
SELECT client_id AS "clientId", user_id AS "userId", is_fee_grant AS "isGrant", is_unproven AS "isUnproven",
  is_pending AS "isPending", count(*)::int AS payments, sum(part) AS fees
FROM granted WHERE NOT is_used GROUP BY client_id, user_id, is_fee_grant, is_unproven, is_pending`

/** $3 payers, $4 client keys, one of each for a payment. Payments to other users prove nothing: a payer can be its own merchant. */
const PROVEN = `
WITH ${GRANTED}
SELECT p.payer, p.client_id AS "clientId"
FROM unnest($3::text[], $4::text[]) AS p (payer, client_id) JOIN clients c ON c.client_id = p.client_id
WHERE (
  SELECT count(*) FROM assets a
    JOIN settlements s ON s.network = a.network AND s.asset = a.asset AND s.payer = p.payer AND s.status = 'settled'
    JOIN clients k ON k.client_id = s.client_id
  WHERE a.network = $1 AND k.user_id = c.user_id
) > (
  SELECT count(*) FROM granted g WHERE g.payer = p.payer AND g.user_id = c.user_id AND NOT g.is_used AND NOT g.is_pending
)`

export type GrantStore = ReturnType<typeof createGrantStore>
type PaymentOfClient = { payer: string; clientId: string }
type Recorded = { settlementId: bigint; clientId: string; part: bigint; isUnproven: boolean }

/** Fee grants by payment. Statements on a `session` are part of the database transaction open there. */
export function createGrantStore(pool: Pool) {
  return {
    /** `regranted`: the settlements that need another grant, so that the one before is wasted. */
    async unused(
      network: string,
      regranted: readonly bigint[] = [],
      session: Session = pool,
    ): Promise<UnusedGrants[]> {
      const { rows } = await session.query<Omit<UnusedGrants, 'fees'> & { fees: string }>(UNUSED, [
        network,
        regranted,
      ])
      return rows.map(({ fees, ...row }) => ({ ...row, fees: BigInt(fees) }))
    },

    /** Those whose payer has more settled payments of the client's user than wasted grants of 24 hours. */
    async proven(
      network: string,
      payments: readonly PaymentOfClient[],
      regranted: readonly bigint[] = [],
      session: Session = pool,
    ): Promise<PaymentOfClient[]> {
      const { rows } = await session.query<PaymentOfClient>(PROVEN, [
        network,
        regranted,
        payments.map(({ payer }) => payer),
        payments.map(({ clientId }) => clientId),
      ])
      return rows
    },

    /** The transaction must be stored in the same database transaction. */
    async record(session: Session, hash: string, grants: readonly Recorded[]): Promise<void> {
      await session.query(
        `INSERT INTO fee_grants (transaction_id, settlement_id, client_id, part, is_unproven)
         SELECT t.id, g.settlement_id, g.client_id, g.part, g.is_unproven
         FROM transactions t, unnest($2::bigint[], $3::text[], $4::numeric[], $5::boolean[])
           AS g (settlement_id, client_id, part, is_unproven)
         WHERE t.hash = $1
         ON CONFLICT (transaction_id, settlement_id) DO UPDATE SET part = EXCLUDED.part`,
        [
          hash,
          grants.map(({ settlementId }) => settlementId),
          grants.map(({ clientId }) => clientId),
          grants.map(({ part }) => part.toString()),
          grants.map(({ isUnproven }) => isUnproven),
        ],
      )
    },
  }
}
