import { type BlockId } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { claimColumns, toClaim, type Claim, type ClaimRow } from './settler-store'
import { CLAIMED_CHANNEL } from './store'
import { ofLane, valuesOf, type Lane } from './transaction-store'

/** A payment that was settled by the transaction `hash`, which is not ours. */
export type Elsewhere = Claim & { hash: string; blockNumber: bigint }

export type ReorgStore = ReturnType<typeof createReorgStore>

/** What is mined, until no reorg can drop it any more. */
export function createReorgStore(pool: Pool) {
  return {
    /** The blocks that hold what may still be dropped by a reorg, of this lane. */
    async watched(lane: Lane): Promise<BlockId[]> {
      const { rows } = await pool.query<BlockId>(
        `select distinct block_number as number, block_hash as hash from transactions t
         where ${ofLane} and t.status = 'mined' order by block_number`,
        valuesOf(lane),
      )
      return rows
    },

    /** What no reorg can drop any more, for it is in this block or before it. */
    async finalize(lane: Lane, upTo: bigint): Promise<void> {
      await pool.query(
        `update transactions t set status = 'final' where ${ofLane} and t.status = 'mined' and t.block_number <= $4`,
        [...valuesOf(lane), upTo],
      )
    },

    /** The mined transactions of this lane in one block. */
    async minedIn(lane: Lane, { number, hash }: BlockId) {
      const { rows } = await pool.query<{ id: bigint; hash: string }>(
        `select t.id, t.hash from transactions t
         where ${ofLane} and t.status = 'mined' and t.block_number = $4 and t.block_hash = $5`,
        [...valuesOf(lane), number, hash],
      )
      return rows
    },

    /**
     * A reorg dropped the transaction from its block: what it settled is reversed, what had come to nothing in it may be
     * settled by it after all, what it cost is not owed any more, and it is on its way again. Answers the ids of both; none
     * where it is not of that block any more, for another replica saw the reorg before.
     */
    async reverse(id: bigint, block: BlockId): Promise<{ reversed: bigint[]; reopened: bigint[] }> {
      const { rows } = await pool.query<{ id: bigint; wasSettled: boolean }>(
        `with dropped as (
           update transactions
           set status = 'signed', block_number = null, block_hash = null, fee = null, broadcast_at = null, signed_at = now()
           where id = $1 and status = 'mined' and block_hash = $2 returning id, hash
         ), returned as (
           delete from charges c using dropped d where c.transaction_id = d.id returning c.settlement_id, c.fee
         ), affected as (
           select s.id, s.status = 'settled' as was_settled from settlements s, dropped d
           where s.transaction_id = d.id
               and (s.transaction_hash = d.hash and s.status = 'settled' or s.error_reason is not null)
             or s.transaction_id is null and s.error_reason is not null and s.id in (select settlement_id from returned)
         ), moved as (
           update settlements s
           set fee = s.fee - r.fee,
             transaction_id = case when a.id is null then s.transaction_id else $1 end,
             status = case when a.id is null then s.status when s.status = 'failed' then 'signed' else 'reversed' end,
             error_reason = case when a.id is null then s.error_reason end,
             error_detail = case when a.id is null then s.error_detail end,
             updated_at = case when a.id is null then s.updated_at else now() end
           from returned r left join affected a on a.id = r.settlement_id where s.id = r.settlement_id
           returning s.id
         )
         select a.id, a.was_settled as "wasSettled" from affected a join moved m using (id) order by a.id`,
        [id, block.hash],
      )
      const idsOf = (wasSettled: boolean) =>
        rows.filter((row) => row.wasSettled === wasSettled).map((row) => row.id)
      return { reversed: idsOf(true), reopened: idsOf(false) }
    },

    /** What somebody else's transaction settled, in a block after this one: no transaction of ours is watched for it. */
    async settledElsewhere(network: string, after: bigint): Promise<Elsewhere[]> {
      const { rows } = await pool.query<ClaimRow & { hash: string; blockNumber: bigint }>(
        `select ${claimColumns}, s.transaction_hash as hash, s.block_number as "blockNumber"
         from settlements s join assets a on a.network = s.network and a.asset = s.asset
           left join transactions t on t.id = s.transaction_id
         where s.network = $1 and s.status = 'settled' and s.block_number > $2 and t.hash is distinct from s.transaction_hash
         order by s.id`,
        [network, after],
      )
      return rows.map((row) => ({ ...toClaim(row), hash: row.hash, blockNumber: row.blockNumber }))
    },

    /** A reorg dropped what somebody else had sent: the payment is to be settled again. Once. */
    async reclaim({
      id,
      hash,
      blockNumber,
    }: Pick<Elsewhere, 'id' | 'hash' | 'blockNumber'>): Promise<boolean> {
      const { rowCount } = await pool.query(
        `update settlements s
         set status = 'claimed', transaction_id = null, block_number = null, updated_at = now()
         where s.id = $1 and s.status = 'settled' and s.transaction_hash = $2 and s.block_number = $3
         returning pg_notify('${CLAIMED_CHANNEL}', network)`,
        [id, hash, blockNumber],
      )
      return rowCount === 1
    },
  }
}
