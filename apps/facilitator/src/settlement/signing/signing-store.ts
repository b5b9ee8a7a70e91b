import { type SignedTransaction } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type Claim } from '../claims/claim'
import { type Session } from '../claims/claim-store'

export type SigningStore = ReturnType<typeof createSigningStore>

/**
 * What a signer signs and nodes are offered: its nonces, the fees, the transactions; see transaction-store for how they are
 * followed. What is done on a `session` is part of the transaction open there.
 */
export function createSigningStore(pool: Pool) {
  return {
    /**
     * The first `count` unused nonces from `from` on, gaps first: a reorg may have dropped a transaction that used one of ours.
     */
    async freeNonces(
      session: Session,
      network: string,
      signer: string,
      { from, count }: { from: bigint; count: number },
    ): Promise<bigint[]> {
      const { rows } = await session.query<{ nonce: bigint }>(
        `WITH used AS (SELECT nonce FROM transactions WHERE network = $1 AND signer = $2 AND nonce >= $3 AND status <> 'superseded')
         SELECT nonce FROM generate_series($3::bigint, $3::bigint + $4::int + (SELECT count(*) FROM used)) AS free (nonce)
         WHERE nonce NOT IN (SELECT nonce FROM used) ORDER BY nonce LIMIT $4`,
        [network, signer, from, count],
      )
      return rows.map(({ nonce }) => nonce)
    },

    /** Those of `payers` for whom a transaction that comes before their own is on its way. */
    async payersBehindFirst(
      session: Session,
      network: string,
      payers: readonly string[],
    ): Promise<Set<string>> {
      const { rows } = await session.query<{ payer: string }>(
        `SELECT DISTINCT s.payer FROM settlements s JOIN transactions t ON t.id = s.transaction_id
         WHERE t.network = $1 AND t.status = 'signed' AND t.is_fee_grant AND s.payer = ANY($2)`,
        [network, payers],
      )
      return new Set(rows.map(({ payer }) => payer))
    },

    /** How many of our transactions of this signer are not mined. */
    async unminedCount(session: Session, network: string, signer: string): Promise<number> {
      const { rows } = await session.query<{ count: bigint }>(
        `SELECT count(*) FROM transactions
         WHERE network = $1 AND signer = $2 AND status = 'signed' AND nonce IS NOT NULL`,
        [network, signer],
      )
      return Number(rows[0]?.count ?? 0n)
    },

    /**
     * Stores the transaction of these claims before it is sent. One signer's nonce is had by one that is not lost; null is a payer's own,
     * which may have been there before: what a node may have had then, it may have still.
     */
    async storeSigned(
      session: Session,
      signed: {
        claims: readonly Claim[]
        network: string
        signer: string
        nonce: bigint | null
        transaction: SignedTransaction
        /** What it may cost us at most. */
        cost: bigint
        /** Whether it only has to come before the payers' own. */
        isFeeGrant?: boolean
      },
    ): Promise<void> {
      const { claims, network, signer, nonce, transaction, cost, isFeeGrant = false } = signed
      await session.query(
        `WITH stored AS (
           INSERT INTO transactions (network, signer, nonce, raw, hash, max_fee, is_fee_grant) VALUES ($1, $2, $3, $4, $5, $7, $8)
           ON CONFLICT (hash) DO UPDATE SET status = 'signed', signer = $2, max_fee = $7, submitted_at = now(),
             accepted_at = CASE WHEN $3::bigint IS NULL THEN coalesce(transactions.accepted_at, transactions.submitted_at) END,
             signed_at = now(), block_number = NULL, block_hash = NULL, fee = NULL
           RETURNING id
         ), version AS (
           INSERT INTO transaction_versions (hash, transaction_id, raw) SELECT $5, id, $4 FROM stored
           ON CONFLICT (hash) DO NOTHING
         )
         UPDATE settlements
         SET status = 'signed', transaction_id = (SELECT id FROM stored),
           transaction_hash = CASE WHEN $8 THEN transaction_hash ELSE $5 END, last_error = NULL, retry_at = NULL, updated_at = now()
         WHERE id = ANY($6)`,
        [
          network,
          signer,
          nonce,
          transaction.raw,
          transaction.hash,
          claims.map(({ id }) => id),
          cost,
          isFeeGrant,
        ],
      )
    },

    /**
     * Fees of our transactions of the last day, with the maximum fee of those that are not mined. A fee grant counts with its whole
     * allowance, so the payers' own transactions do not count again. Holds a lock until the transaction ends, so that two callers
     * never spend the same remainder of a cap. Excludes the transaction `butOf`, which is about to be replaced.
     */
    async feesOfDay(session: Session, network: string, butOf?: bigint): Promise<bigint> {
      await session.query(
        `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'fees', $1::text), 0))`,
        [network],
      )
      // A statement of its own: it must see what was committed before the lock was had.
      const { rows } = await session.query<{ fees: string }>(
        `SELECT coalesce(sum(CASE WHEN fee IS NULL OR is_fee_grant THEN max_fee ELSE fee END), 0) AS fees FROM transactions
         WHERE network = $1 AND max_fee > 0 AND nonce IS NOT NULL AND (status <> 'superseded' OR is_fee_grant) AND signed_at > now() - INTERVAL '1 day'
           AND id IS DISTINCT FROM $2::bigint`,
        [network, butOf ?? null],
      )
      return BigInt(rows[0]?.fees ?? 0)
    },

    async markAccepted(hash: string): Promise<void> {
      await pool.query(
        `UPDATE transactions
         SET accepted_at = coalesce(accepted_at, now()), submitted_at = coalesce(submitted_at, now()) WHERE hash = $1`,
        [hash],
      )
    },

    /** From now on a node may have it. Whether none had been offered it before, or each had refused it. */
    async markSubmitted(hash: string): Promise<boolean> {
      const { rowCount } = await pool.query(
        'UPDATE transactions SET submitted_at = now() WHERE hash = $1 AND submitted_at IS NULL',
        [hash],
      )
      return rowCount === 1
    },

    /** Every node that was asked since the last submission rejected it, so no node has it. */
    async markRejected(hash: string): Promise<void> {
      await pool.query(
        'UPDATE transactions SET submitted_at = NULL WHERE hash = $1 AND accepted_at IS NULL',
        [hash],
      )
    },
  }
}
