import { type SignedTransaction } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type Claim, type Session } from './settler-store'

export type SigningStore = ReturnType<typeof createSigningStore>

/**
 * What a signer signs and nodes are offered: its nonces, the fees, the transactions; see transaction-store for how they are
 * followed. What is done on a `session` is part of the transaction open there.
 */
export function createSigningStore(pool: Pool) {
  return {
    /**
     * The first `count` nonces from `from` on that nothing of ours is to use; a gap that was left is filled first, be it that
     * a reorg dropped what had taken a nonce from us.
     */
    async freeNonces(
      session: Session,
      network: string,
      signer: string,
      { from, count }: { from: bigint; count: number },
    ): Promise<bigint[]> {
      const { rows } = await session.query<{ nonce: bigint }>(
        `with used as (select nonce from transactions where network = $1 and signer = $2 and nonce >= $3 and status <> 'lost')
         select nonce from generate_series($3::bigint, $3::bigint + $4::int + (select count(*) from used)) as free (nonce)
         where nonce not in (select nonce from used) order by nonce limit $4`,
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
        `select distinct s.payer from settlements s join transactions t on t.id = s.transaction_id
         where t.network = $1 and t.status = 'signed' and t.is_first and s.payer = any($2)`,
        [network, payers],
      )
      return new Set(rows.map(({ payer }) => payer))
    },

    /** How many of our transactions of this signer are not mined. */
    async unminedCount(session: Session, network: string, signer: string): Promise<number> {
      const { rows } = await session.query<{ count: bigint }>(
        `select count(*) from transactions
         where network = $1 and signer = $2 and status = 'signed' and nonce is not null`,
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
        isFirst?: boolean
      },
    ): Promise<void> {
      const { claims, network, signer, nonce, transaction, cost, isFirst = false } = signed
      await session.query(
        `with stored as (
           insert into transactions (network, signer, nonce, raw, hash, cost, is_first) values ($1, $2, $3, $4, $5, $7, $8)
           on conflict (hash) do update set status = 'signed', signer = $2, cost = $7, offered_at = now(),
             broadcast_at = case when $3::bigint is null then coalesce(transactions.broadcast_at, transactions.offered_at) end,
             signed_at = now(), block_number = null, block_hash = null, fee = null
           returning id
         ), version as (
           insert into transaction_versions (hash, transaction_id, raw) select $5, id, $4 from stored
           on conflict (hash) do nothing
         )
         update settlements
         set status = 'signed', transaction_id = (select id from stored),
           transaction_hash = case when $8 then transaction_hash else $5 end, problem = null, retry_at = null, updated_at = now()
         where id = any($6)`,
        [
          network,
          signer,
          nonce,
          transaction.raw,
          transaction.hash,
          claims.map(({ id }) => id),
          cost,
          isFirst,
        ],
      )
    },

    /**
     * What our transactions of the last day cost, and may cost where they are not mined. Those that come before payers' own count
     * with all that they let payers spend, so that those payers' own do not count again. Until the transaction ends nobody else
     * is told: whoever asks may spend what is left of a cap. Without the transaction `butOf`, which is about to be replaced.
     */
    async feesOfDay(session: Session, network: string, butOf?: bigint): Promise<bigint> {
      await session.query(
        `select pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'fees', $1::text), 0))`,
        [network],
      )
      // A statement of its own: it must see what was committed before the lock was had.
      const { rows } = await session.query<{ fees: string }>(
        `select coalesce(sum(case when fee is null or is_first then cost else fee end), 0) as fees from transactions
         where network = $1 and cost > 0 and nonce is not null and (status <> 'lost' or is_first) and signed_at > now() - interval '1 day'
           and id is distinct from $2::bigint`,
        [network, butOf ?? null],
      )
      return BigInt(rows[0]?.fees ?? 0)
    },

    async noteBroadcast(hash: string): Promise<void> {
      await pool.query(
        `update transactions
         set broadcast_at = coalesce(broadcast_at, now()), offered_at = coalesce(offered_at, now()) where hash = $1`,
        [hash],
      )
    },

    /** From now on a node may have it. Whether none had been offered it before, or each had refused it. */
    async noteOffered(hash: string): Promise<boolean> {
      const { rowCount } = await pool.query(
        'update transactions set offered_at = now() where hash = $1 and offered_at is null',
        [hash],
      )
      return rowCount === 1
    },

    /** Every node that was asked since it was last offered refused it: nobody has it. */
    async noteRefused(hash: string): Promise<void> {
      await pool.query('update transactions set offered_at = null where hash = $1 and broadcast_at is null', [
        hash,
      ])
    },
  }
}
