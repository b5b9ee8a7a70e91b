import { type BlockId } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type Claim } from '../claims/claim'
import { claimColumns, toClaim, type ClaimRow } from '../claims/claim-store'
import { CLAIMED_CHANNEL } from '../channels'
import { inScope, valuesOf, type SignerScope } from '../transactions/transaction-store'

/** A payment that was settled by the transaction `hash`, which is not ours. */
export type ExternalSettlement = Claim & { hash: string; blockNumber: bigint }

export type ReorgStore = ReturnType<typeof createReorgStore>

/** What is mined, until no reorg can drop it any more. */
export function createReorgStore(pool: Pool) {
  return {
    /** The blocks that hold what may still be dropped by a reorg, of this lane. */
    async watched(scope: SignerScope): Promise<BlockId[]> {
      const { rows } = await pool.query<BlockId>(
        `SELECT DISTINCT block_number AS number, block_hash AS hash FROM transactions t
         WHERE ${inScope} AND t.status = 'mined' ORDER BY block_number`,
        valuesOf(scope),
      )
      return rows
    },

    /** Finalizes transactions in this block and earlier ones: no reorg can drop them. */
    async finalize(scope: SignerScope, upTo: bigint): Promise<void> {
      await pool.query(
        `UPDATE transactions t SET status = 'final' WHERE ${inScope} AND t.status = 'mined' AND t.block_number <= $4`,
        [...valuesOf(scope), upTo],
      )
    },

    /** The mined transactions of this lane in one block. */
    async minedIn(scope: SignerScope, { number, hash }: BlockId) {
      const { rows } = await pool.query<{ id: bigint; hash: string }>(
        `SELECT t.id, t.hash FROM transactions t
         WHERE ${inScope} AND t.status = 'mined' AND t.block_number = $4 AND t.block_hash = $5`,
        [...valuesOf(scope), number, hash],
      )
      return rows
    },

    /**
     * Reverses what a transaction settled whose block a reorg dropped, reopens what failed in it, removes its fee, and sets it to
     * `signed`. Returns the ids of both; none if another replica did so first.
     */
    async reverse(id: bigint, block: BlockId): Promise<{ reversed: bigint[]; reopened: bigint[] }> {
      const { rows } = await pool.query<{ id: bigint; wasSettled: boolean }>(
        `WITH dropped AS (
           UPDATE transactions
           SET status = 'signed', block_number = NULL, block_hash = NULL, fee = NULL, accepted_at = NULL, signed_at = now()
           WHERE id = $1 AND status = 'mined' AND block_hash = $2 RETURNING id, hash
         ), returned AS (
           DELETE FROM fee_allocations c USING dropped d WHERE c.transaction_id = d.id RETURNING c.settlement_id, c.fee
         ), affected AS (
           SELECT s.id, s.status = 'settled' AS was_settled FROM settlements s, dropped d
           WHERE s.transaction_id = d.id
               AND (s.transaction_hash = d.hash AND s.status = 'settled' OR s.error_reason IS NOT NULL)
             OR s.transaction_id IS NULL AND s.error_reason IS NOT NULL AND s.id IN (SELECT settlement_id FROM returned)
         ), moved AS (
           UPDATE settlements s
           SET fee = s.fee - r.fee,
             transaction_id = CASE WHEN a.id IS NULL THEN s.transaction_id ELSE $1 END,
             status = CASE WHEN a.id IS NULL THEN s.status WHEN s.status = 'failed' THEN 'signed' ELSE 'reversed' END,
             error_reason = CASE WHEN a.id IS NULL THEN s.error_reason END,
             error_detail = CASE WHEN a.id IS NULL THEN s.error_detail END,
             updated_at = CASE WHEN a.id IS NULL THEN s.updated_at ELSE now() END
           FROM returned r LEFT JOIN affected a ON a.id = r.settlement_id WHERE s.id = r.settlement_id
           RETURNING s.id
         )
         SELECT a.id, a.was_settled AS "wasSettled" FROM affected a JOIN moved m USING (id) ORDER BY a.id`,
        [id, block.hash],
      )
      const idsOf = (wasSettled: boolean) =>
        rows.filter((row) => row.wasSettled === wasSettled).map((row) => row.id)
      return { reversed: idsOf(true), reopened: idsOf(false) }
    },

    /** What somebody else's transaction settled, in a block after this one: no transaction of ours is watched for it. */
    async settledElsewhere(network: string, after: bigint): Promise<ExternalSettlement[]> {
      const { rows } = await pool.query<ClaimRow & { hash: string; blockNumber: bigint }>(
        `SELECT ${claimColumns}, s.transaction_hash AS hash, s.block_number AS "blockNumber"
         FROM settlements s JOIN assets a ON a.network = s.network AND a.asset = s.asset
           LEFT JOIN transactions t ON t.id = s.transaction_id
         WHERE s.network = $1 AND s.status = 'settled' AND s.block_number > $2 AND t.hash IS DISTINCT FROM s.transaction_hash
         ORDER BY s.id`,
        [network, after],
      )
      return rows.map((row) => ({ ...toClaim(row), hash: row.hash, blockNumber: row.blockNumber }))
    },

    /** A reorg dropped what somebody else had sent: the payment is to be settled again. Once. */
    async reclaim({
      id,
      hash,
      blockNumber,
    }: Pick<ExternalSettlement, 'id' | 'hash' | 'blockNumber'>): Promise<boolean> {
      const { rowCount } = await pool.query(
        `UPDATE settlements s
         SET status = 'claimed', transaction_id = NULL, block_number = NULL, updated_at = now()
         WHERE s.id = $1 AND s.status = 'settled' AND s.transaction_hash = $2 AND s.block_number = $3
         RETURNING pg_notify('${CLAIMED_CHANNEL}', network)`,
        [id, hash, blockNumber],
      )
      return rowCount === 1
    },
  }
}
