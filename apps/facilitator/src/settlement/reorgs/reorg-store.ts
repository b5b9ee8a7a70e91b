import { type BlockId } from '@tollgate/chains'
import { type Pool, type PoolClient } from '@tollgate/database'
import { type Claim } from '../claims/claim'
import { claimColumns, toClaim, type ClaimRow } from '../claims/claim-store'
import { CLAIMED_CHANNEL } from '../channels'
import { inShortTransaction } from '../short-transaction'
import { reorgEffect, type MinedSettlement, type ReorgEffect } from './reorg-effect'
import { inScope, valuesOf, type SignerScope } from '../transactions/transaction-store'

/** `hash` is a third party's transaction. */
export type ExternalSettlement = Claim & { hash: string; blockNumber: bigint }

export type ReorgStore = ReturnType<typeof createReorgStore>

/** Locks the transaction's row, which every statement does before it locks the settlements. */
const REOPEN_TRANSACTION = `
UPDATE transactions
SET status = 'signed', block_number = NULL, block_hash = NULL, fee = NULL, accepted_at = NULL, signed_at = now()
WHERE id = $1 AND status = 'mined' AND block_hash = $2 RETURNING hash`

const DELETE_ALLOCATIONS = `
DELETE FROM fee_allocations WHERE transaction_id = $1 RETURNING settlement_id AS "settlementId", fee`

const LOCK_ALLOCATED = `
SELECT id, status, transaction_id AS "transactionId", transaction_hash AS "transactionHash", error_reason AS "errorReason"
FROM settlements WHERE id = ANY($1) ORDER BY id FOR UPDATE`

const SUBTRACT_FEES = `
UPDATE settlements s SET fee = s.fee - allocated.fee
FROM unnest($1::bigint[], $2::numeric[]) AS allocated (settlement_id, fee) WHERE s.id = allocated.settlement_id`

/** Frees the place of the transfer: when the transaction is mined again, another payment's transfer may have it. */
const REOPEN_SETTLEMENTS = `
UPDATE settlements
SET status = CASE WHEN status = 'failed' THEN 'signed' ELSE 'reversed' END, transaction_id = $1, transfer = NULL,
  error_reason = NULL, error_detail = NULL, updated_at = now()
WHERE id = ANY($2)`

async function reopenTransaction(
  session: PoolClient,
  id: bigint,
  block: BlockId,
): Promise<string | undefined> {
  const { rows } = await session.query<{ hash: string }>(REOPEN_TRANSACTION, [id, block.hash])
  return rows[0]?.hash
}

type Allocation = { settlementId: bigint; fee: string }

async function deleteAllocations(session: PoolClient, id: bigint): Promise<Allocation[]> {
  return (await session.query<Allocation>(DELETE_ALLOCATIONS, [id])).rows
}

/** The state of the settlements once no other session can change it. */
async function lockAllocated(
  session: PoolClient,
  allocations: readonly Allocation[],
): Promise<(MinedSettlement & { id: bigint })[]> {
  const ids = allocations.map(({ settlementId }) => settlementId)
  return (await session.query<MinedSettlement & { id: bigint }>(LOCK_ALLOCATED, [ids])).rows
}

/** Mined transactions, until no reorg can drop them. */
export function createReorgStore(pool: Pool) {
  return {
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

    async minedIn(scope: SignerScope, { number, hash }: BlockId) {
      const { rows } = await pool.query<{ id: bigint; hash: string }>(
        `SELECT t.id, t.hash FROM transactions t
         WHERE ${inScope} AND t.status = 'mined' AND t.block_number = $4 AND t.block_hash = $5`,
        [...valuesOf(scope), number, hash],
      )
      return rows
    },

    /**
     * Reopens a transaction whose block a reorg dropped, with its settlements: reverses what it settled, reopens what failed in
     * it, removes its fee. All or nothing. Returns the ids of both; none if another replica did so first.
     */
    reverse: (id: bigint, block: BlockId): Promise<{ reversed: bigint[]; reopened: bigint[] }> =>
      inShortTransaction(pool, async (session) => {
        const hash = await reopenTransaction(session, id, block)
        if (hash === undefined) return { reversed: [], reopened: [] }
        const allocations = await deleteAllocations(session, id)
        const settlements = await lockAllocated(session, allocations)
        await session.query(SUBTRACT_FEES, [
          allocations.map(({ settlementId }) => settlementId),
          allocations.map(({ fee }) => fee),
        ])
        const effects = settlements.map((one) => ({ id: one.id, effect: reorgEffect(one, { id, hash }) }))
        const idsOf = (which: ReorgEffect) =>
          effects.filter(({ effect }) => effect === which).map((one) => one.id)
        const [reversed, reopened] = [idsOf('reverse'), idsOf('reopen')]
        await session.query(REOPEN_SETTLEMENTS, [id, [...reversed, ...reopened]])
        return { reversed, reopened }
      }),

    /** Settled by third parties in blocks above `after`: no transaction of ours tracks them. */
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

    /** For a reorg that dropped a third party's transaction. Idempotent: returns false if the settlement has changed. */
    async reclaim({
      id,
      hash,
      blockNumber,
    }: Pick<ExternalSettlement, 'id' | 'hash' | 'blockNumber'>): Promise<boolean> {
      const { rowCount } = await pool.query(
        `UPDATE settlements s
         SET status = 'claimed', transaction_id = NULL, block_number = NULL, transfer = NULL, updated_at = now()
         WHERE s.id = $1 AND s.status = 'settled' AND s.transaction_hash = $2 AND s.block_number = $3
         RETURNING pg_notify('${CLAIMED_CHANNEL}', network)`,
        [id, hash, blockNumber],
      )
      return rowCount === 1
    },
  }
}
