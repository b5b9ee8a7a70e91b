import { type SignedTransaction } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type Claim } from '../claims/claim'
import { type Session } from '../session'

export type SigningStore = ReturnType<typeof createSigningStore>

/** A payer's transaction may be stored already, superseded: its bytes are the same each time. */
const STORE_TRANSACTION = `
INSERT INTO transactions (network, signer, nonce, raw, hash, max_fee, is_fee_grant) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (hash) DO UPDATE SET status = 'signed', signer = $2, max_fee = $6, submitted_at = now(),
  accepted_at = CASE WHEN $3::bigint IS NULL THEN coalesce(transactions.accepted_at, transactions.submitted_at) END,
  signed_at = now(), block_number = NULL, block_hash = NULL, fee = NULL
RETURNING id`

const STORE_VERSION = `
INSERT INTO transaction_versions (transaction_id, hash, raw) VALUES ($1, $2, $3) 
ON CONFLICT (hash) DO UPDATE SET transaction_id = EXCLUDED.transaction_id, created_at = now()`

/** A fee grant does not broadcast the payment, so it sets no hash. */
const SIGN_CLAIMS = `
UPDATE settlements
SET status = 'signed', transaction_id = $1, transaction_hash = coalesce($3, transaction_hash), transfer = NULL,
  last_error = NULL,
  retry_requested_at = NULL, updated_at = now()
WHERE id = ANY($2)`

/** $1 network, $2 a transaction to leave out. */
const FEES_OF_DAY = `
SELECT coalesce(sum(CASE WHEN fee IS NULL OR is_fee_grant THEN max_fee ELSE fee END), 0) AS fees FROM transactions
WHERE network = $1 AND max_fee > 0 AND nonce IS NOT NULL AND (status <> 'superseded' OR is_fee_grant)
  AND signed_at > now() - INTERVAL '1 day' AND id IS DISTINCT FROM $2::bigint`

/** Without the lock of `feesOfDay`, for reports: a transaction that is being signed may be missing. */
export async function readFeesOfDay(session: Session, network: string, exceptId?: bigint): Promise<bigint> {
  const { rows } = await session.query<{ fees: string }>(FEES_OF_DAY, [network, exceptId ?? null])
  return BigInt(rows[0]?.fees ?? 0)
}

/** A signer's nonces, fees and stored transactions. Statements on a `session` are part of the database transaction open there. */
export function createSigningStore(pool: Pool) {
  return {
    /** The first `count` unused nonces from `from` on, including gaps: a reorg may have dropped the transaction in one. */
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

    /** Whether a transaction of ours is in flight that settles payments itself. */
    async hasPendingSettlement(session: Session, network: string, signer: string): Promise<boolean> {
      const { rows } = await session.query(
        `SELECT FROM transactions
         WHERE network = $1 AND signer = $2 AND status = 'signed' AND nonce IS NOT NULL AND NOT is_fee_grant LIMIT 1`,
        [network, signer],
      )
      return rows.length > 0
    },

    async unminedCount(session: Session, network: string, signer: string): Promise<number> {
      const { rows } = await session.query<{ count: bigint }>(
        `SELECT count(*) FROM transactions
         WHERE network = $1 AND signer = $2 AND status = 'signed' AND nonce IS NOT NULL`,
        [network, signer],
      )
      return Number(rows[0]?.count ?? 0n)
    },

    /**
     * Stores the transaction of these claims before it is broadcast. `nonce` is null if the payer signed it: such a transaction may be
     * stored already, and a node that had it then may still have it.
     */
    async storeSigned(
      session: Session,
      signed: {
        claims: readonly Claim[]
        network: string
        signer: string
        nonce: bigint | null
        transaction: SignedTransaction
        /** Upper bound, in the native smallest unit. */
        cost: bigint
        isFeeGrant?: boolean
      },
    ): Promise<void> {
      const { claims, network, signer, nonce, transaction, cost, isFeeGrant = false } = signed
      const { raw, hash } = transaction
      const { rows } = await session.query<{ id: bigint }>(STORE_TRANSACTION, [
        network,
        signer,
        nonce,
        raw,
        hash,
        cost,
        isFeeGrant,
      ])
      const [stored] = rows
      if (!stored) throw new Error(`Postgres returned no id for the transaction ${hash}`)
      await session.query(STORE_VERSION, [stored.id, hash, raw])
      const claimIds = claims.map(({ id }) => id)
      await session.query(SIGN_CLAIMS, [stored.id, claimIds, isFeeGrant ? null : hash])
    },

    /**
     * Fees of our transactions of the last day; of pending ones the maximum fee. A fee grant counts with its whole allowance, so the
     * payers' own transactions do not count again. Locks the network's fees until the database transaction ends, so that two
     * callers never spend the same remainder of a daily fee limit. Excludes the transaction `exceptId`, which is about to be replaced.
     */
    async feesOfDay(session: Session, network: string, exceptId?: bigint): Promise<bigint> {
      await session.query(
        `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'fees', $1::text), 0))`,
        [network],
      )
      // After the lock: it must see what the previous holder committed.
      return readFeesOfDay(session, network, exceptId)
    },

    async markAccepted(hash: string): Promise<void> {
      await pool.query(
        `UPDATE transactions
         SET accepted_at = coalesce(accepted_at, now()), submitted_at = coalesce(submitted_at, now()) WHERE hash = $1`,
        [hash],
      )
    },

    /** From now on a node may have it. Returns whether no node can have had it before. */
    async markSubmitted(hash: string): Promise<boolean> {
      const { rowCount } = await pool.query(
        'UPDATE transactions SET submitted_at = now() WHERE hash = $1 AND submitted_at IS NULL',
        [hash],
      )
      return rowCount === 1
    },

    /** Requires that every node asked since the last submission rejected it. */
    async markRejected(hash: string): Promise<void> {
      await pool.query(
        'UPDATE transactions SET submitted_at = NULL WHERE hash = $1 AND accepted_at IS NULL',
        [hash],
      )
    },
  }
}
