import { type BlockId, type OwnTransaction, type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import {
  SUSPEND_MISMATCHED,
  claimColumns,
  endStatus,
  settledAt,
  storedDetail,
  toClaim,
  type Claim,
  type ClaimRow,
  type Conclusion,
  type Mismatch,
  type Session,
} from './settler-store'
import { isOnItsWaySql } from './state'
import { CLAIMED_CHANNEL, FINAL_CHANNEL } from './store'

/** A transaction that is signed and not mined as far as we know, and the settlements that wait for it. */
export type OpenTransaction = {
  id: bigint
  signer: string
  /** Null of a payer's own. */
  nonce: bigint | null
  /** The newest version. */
  transaction: SignedTransaction
  /** Of all versions, the newest first: any of them may be mined. */
  hashes: string[]
  /** Whether a node may have it, or had it once. */
  wasOffered: boolean
  /** Whether it was signed a minute ago or more: nodes do not lag so far. */
  isOld: boolean
  settlements: Claim[]
}

/**
 * Whose transactions are followed together: those of a signer, and where it is told all the signers there are, those of all
 * others as well. Somebody must see to what signers have left behind that were taken out of the configuration.
 */
export type Lane = { network: string; signer: string; adoptsAllBut?: readonly string[] | undefined }

export const ofLane = `t.network = $1 and (t.signer = $2 or t.signer <> all($3::text[]))`
export const valuesOf = ({ network, signer, adoptsAllBut }: Lane) => [network, signer, adoptsAllBut ?? null]

/** What becomes of a settlement once its transaction is mined or lost: over, or to be sent again. */
export type Transition = { id: bigint } & (Conclusion | { status: 'claimed' })

/** How a transaction got out of the way: mined as this version, or its nonce went to another. */
export type Clearance = { status: 'mined'; hash: string; block: BlockId; fee: bigint } | { status: 'lost' }

export type TransactionStore = ReturnType<typeof createTransactionStore>

type OpenRow = Omit<OpenTransaction, 'transaction' | 'settlements'> & SignedTransaction

const isOnItsWay = isOnItsWaySql('s')

/** Transactions of a day that one asset may make us pay for, with no fault of their payers. */
const MAX_ASSET_FAULTS = 3

/** What moved the money, or something else. */
function transferIn(one: Transition): Mismatch | null {
  if (one.status === 'settled') return one
  return (one.status === 'failed' && one.mismatch) || null
}

/** Transactions as they are followed, from when they are signed until they are mined; see reorg-store for what comes then. */
export function createTransactionStore(pool: Pool) {
  async function open(text: string, values: unknown[], session: Session = pool): Promise<OpenTransaction[]> {
    const { rows } = await session.query<OpenRow>(
      `select t.id, t.signer, t.nonce, t.raw, t.hash, t.offered_at is not null as "wasOffered",
         t.signed_at < now() - interval '1 minute' as "isOld",
         array(select v.hash from transaction_versions v where v.transaction_id = t.id
               order by v.created_at desc, v.hash) as hashes
       from transactions t ${text}`,
      values,
    )
    if (rows.length === 0) return []
    const settlements = await session.query<ClaimRow & { transactionId: bigint }>(
      `select ${claimColumns}, s.transaction_id as "transactionId"
       from settlements s join assets a on a.network = s.network and a.asset = s.asset
       where s.transaction_id = any($1) and ${isOnItsWay} order by s.id`,
      [rows.map(({ id }) => id)],
    )
    return rows.map(({ raw, hash, hashes, ...row }) => ({
      ...row,
      // What a replica of an older version signed has no versions.
      hashes: hashes.length > 0 ? hashes : [hash],
      transaction: { raw, hash },
      settlements: settlements.rows.filter(({ transactionId }) => transactionId === row.id).map(toClaim),
    }))
  }

  return {
    /** Up to `limit` open transactions of this lane, those after the row `after` in the order in which they were signed. */
    unmined: (lane: Lane, { after, limit }: { after: bigint; limit: number }) =>
      open(`where ${ofLane} and t.status = 'signed' and t.id > $4 order by t.id limit $5`, [
        ...valuesOf(lane),
        after,
        limit,
      ]),

    /**
     * Our open transactions of this signer whose newest version has waited for `seconds`, in the order of their nonces; also
     * those that an operator wants tried again. `isOverdue`: the first of all, and for `overdueSeconds`.
     */
    async waiting(
      session: Session,
      network: string,
      signer: string,
      { seconds, overdueSeconds }: { seconds: number; overdueSeconds: number },
    ): Promise<(OpenTransaction & { isOverdue: boolean })[]> {
      const { rows } = await session.query<{ id: bigint; isOverdue: boolean }>(
        `select id, is_retried or (place = 1 and signed_at < now() - make_interval(secs => $4)) as "isOverdue"
         from (
           select id, nonce, signed_at, row_number() over (order by nonce) as place,
             exists (select from settlements s where s.transaction_id = t.id and s.retry_at is not null) as is_retried
           from transactions t where network = $1 and signer = $2 and status = 'signed' and nonce is not null
         ) as ours
         where is_retried or signed_at < now() - make_interval(secs => $3) order by nonce`,
        [network, signer, seconds, overdueSeconds],
      )
      if (rows.length === 0) return []
      const overdue = new Set(rows.filter(({ isOverdue }) => isOverdue).map(({ id }) => id))
      const found = await open('where t.id = any($1) order by t.nonce', [rows.map(({ id }) => id)], session)
      return found.map((one) => ({ ...one, isOverdue: overdue.has(one.id) }))
    },

    /** Stores a version with higher fees before it is sent. */
    async storeVersion(session: Session, id: bigint, { raw, hash, cost }: OwnTransaction): Promise<void> {
      await session.query(
        `with version as (
           insert into transaction_versions (hash, transaction_id, raw) values ($2, $1, $3)
         ), newest as (
           update transactions set raw = $3, hash = $2, cost = $4, signed_at = now(), broadcast_at = null
           where id = $1 and status = 'signed'
         )
         update settlements s set transaction_hash = case when s.transaction_hash is not null then $2 end, retry_at = null, updated_at = now()
         where s.transaction_id = $1 and ${isOnItsWay}`,
        [id, hash, raw, cost],
      )
    },

    /**
     * Writes down how an open transaction got out of the way, what it cost, and what became of its settlements, all in one,
     * suspends the asset of a mismatch, and tells those who wait. Once: told again, by whomever, it changes nothing and answers false; neither is one lost that
     * was signed anew, or taken by a node, since it was read.
     */
    async clear(
      { id, transaction, wasOffered }: Pick<OpenTransaction, 'id' | 'transaction' | 'wasOffered'>,
      clearance: Clearance,
      transitions: readonly Transition[],
    ): Promise<boolean> {
      const mined = clearance.status === 'mined' ? clearance : undefined
      const of = <T>(read: (transfer: Mismatch) => T) =>
        transitions.map(transferIn).map((one) => one && read(one))
      const { rowCount } = await pool.query(
        `with cleared as (
           update transactions t
           set status = $2, hash = coalesce($3, hash), block_number = $4, block_hash = $5, fee = $6,
             raw = coalesce((select v.raw from transaction_versions v where v.hash = $3), raw)
           where id = $1 and status = 'signed'
             and ($2 <> 'lost' or (hash = $12 and (offered_at is not null) = $13)) returning id
         ), shares as (
           select id, div($6::numeric, n) + case when place <= mod($6::numeric, n) then 1 else 0 end as share
           from (select id, row_number() over (order by id) as place, count(*) over () as n
                 from settlements where transaction_id = $1) as part
         ), charged as (
           insert into charges (transaction_id, settlement_id, fee)
           select $1, id, share from shares where $2 = 'mined' and exists (select from cleared)
           on conflict (transaction_id, settlement_id) do update set fee = excluded.fee
         ), transitions as (
           select * from unnest($7::bigint[], $8::text[], $9::text[], $10::bigint[], $11::text[], $14::text[], $15::boolean[])
             as e (id, status, hash, block_number, reason, detail, is_unsent)
         ), ended as (
           update settlements s
           set status = ${endStatus('e.status')}, transaction_hash = case when not e.is_unsent then coalesce(e.hash, s.transaction_hash) end,
             block_number = e.block_number, error_reason = e.reason, error_detail = e.detail, settled_at = ${settledAt('e.status')},
             since_block = greatest(s.since_block, $4),
             attempts = s.attempts + case when e.status = 'settled' then 0 else 1 end,
             transaction_id = case when e.status = 'claimed' then null else s.transaction_id end,
             fee = s.fee + coalesce(share, 0), problem = null, retry_at = null, updated_at = now()
           from transitions e join shares using (id)
           where s.id = e.id and ${isOnItsWay} and exists (select from cleared)
           returning s.id, s.status, s.network, s.asset, s.error_reason, s.transaction_hash
         ), suspended as (${SUSPEND_MISMATCHED}
         ), others as (
           update settlements s set fee = s.fee + share from shares
           where shares.id = s.id and share > 0 and s.id not in (select id from transitions) and exists (select from cleared)
         ), told as (
           select case when status = 'claimed' then pg_notify('${CLAIMED_CHANNEL}', network)
             else pg_notify('${FINAL_CHANNEL}', id::text) end from ended
         )
         select id, (select count(*) from told) from cleared`,
        [
          id,
          clearance.status,
          mined?.hash,
          mined?.block.number,
          mined?.block.hash,
          mined?.fee,
          transitions.map((one) => one.id),
          transitions.map(({ status }) => status),
          of(({ hash }) => hash),
          of(({ blockNumber }) => blockNumber),
          transitions.map((one) => (one.status === 'failed' ? one.reason : null)),
          transaction.hash,
          wasOffered,
          transitions.map((one) => (one.status === 'failed' ? storedDetail(one.detail) : null)),
          transitions.map((one) => one.status === 'failed' && one.isUnsent === true),
        ],
      )
      return rowCount === 1
    },

    /**
     * Writes down that the asset failed this transaction, once, though it succeeds in simulations. Three of a day suspend the asset:
     * answers true then.
     */
    async noteAssetFault(
      id: bigint,
      { network, asset }: { network: string; asset: string },
    ): Promise<boolean> {
      await pool.query(
        `insert into asset_faults (transaction_id, network, asset) values ($1, $2, $3) on conflict do nothing`,
        [id, network, asset],
      )
      // A statement of its own: it must count what it wrote itself.
      const { rowCount } = await pool.query(
        `update assets set active = false, suspended_at = now(),
           suspension = 'its transfers succeed in simulations and fail in blocks, last in settlement transaction ' || $4::text
         where network = $1 and asset = $2 and suspended_at is null and $3 <= (
           select count(*) from asset_faults f where f.network = $1 and f.asset = $2
             and f.created_at > now() - interval '1 day')`,
        [network, asset, MAX_ASSET_FAULTS, id],
      )
      return rowCount === 1
    },

    /**
     * Ends one settlement whose transaction is still on its way, where nothing can come of it any more. False where it is not
     * that transaction's any more: its payment may have been claimed again, with another one that can be mined.
     */
    async fail(
      { id: transactionId }: Pick<OpenTransaction, 'id'>,
      id: bigint,
      { reason, detail }: Refusal,
    ): Promise<boolean> {
      const { rowCount } = await pool.query(
        `update settlements s
         set status = ${endStatus("'failed'")}, error_reason = $2, error_detail = $3, problem = null, retry_at = null, updated_at = now()
         where id = $1 and transaction_id = $4 and ${isOnItsWay} returning pg_notify('${FINAL_CHANNEL}', id::text)`,
        [id, reason, storedDetail(detail), transactionId],
      )
      return rowCount === 1
    },
  }
}
