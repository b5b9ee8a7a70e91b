import { type Pool } from '@tollgate/database'
import { type ReasonCode } from '@tollgate/protocol'
import { type Order } from './order'
import { isOpenSql, type State } from './state'

export const CLAIMED_CHANNEL = 'settlement_claimed'
export const FINAL_CHANNEL = 'settlement_final'

/** Who asks for a settlement, and by which request. */
export type Asker = { clientId: string; requestHash: Buffer; idempotencyKey: string | null }

/** A payment that was claimed, as far as it has come. */
export type Settlement = Asker & {
  id: bigint
  /** Of the request that claimed it. */
  requestId: string | null
  network: string
  payer: string
  status: State
  transactionHash: string | null
  blockNumber: bigint | null
  errorReason: ReasonCode | null
  /** The same in words, which decide nothing. */
  errorDetail: string | null
  settledAt: Date | null
  endedAt: Date | null
  handedOutAt: Date | null
}

type ClaimedAs = { payload: string; judgedBlock: bigint | null; seenBlock: bigint }

export type SettlementStore = ReturnType<typeof createSettlementStore>

const columns = `id, network, payer, status, client_id as "clientId", request_hash as "requestHash",
  idempotency_key as "idempotencyKey", request_id as "requestId", transaction_hash as "transactionHash",
  block_number as "blockNumber", error_reason as "errorReason", error_detail as "errorDetail", settled_at as "settledAt",
  ended_at as "endedAt", handed_out_at as "handedOutAt"`

const samePayment = 'network = $1 and asset = $2 and payer = $3 and nonce = $4'
const keyOf = ({ network, terms, payment }: Order) => [
  network.name,
  terms.token.asset,
  payment.payer,
  payment.nonce,
]

/** Settlements as those see them who ask for them; see settler-store for those who carry them out. */
export function createSettlementStore(pool: Pool) {
  async function one(text: string, values: unknown[]): Promise<Settlement | undefined> {
    const { rows } = await pool.query<Settlement>(text, values)
    return rows[0]
  }

  return {
    /** The clock of Postgres, now. */
    async clock(): Promise<Date> {
      const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now')
      if (!rows[0]) throw new Error('Postgres does not say what time it is')
      return rows[0].now
    },

    find: (order: Order) => one(`select ${columns} from settlements where ${samePayment}`, keyOf(order)),

    /**
     * Claims the payment: of any number of callers, on any replica, one gets the settlement and the others undefined.
     * A claim that came to nothing before anything was sent may be taken over; one that was sent, where it `isPaid` after all,
     * or where what was sent `isUntaken`: its payer may sign another transaction in its place, of which its chain takes one.
     * `since`: a block by which it was found good, or paid. `judgedBlock`: one by whose state its nonce was free. `seenBlock`: the highest block of any node; what is mined later may be
     * for this claim. Where the `isSame` payment was sent before, what is mined since its first claim may. Nothing is claimed after
     * `until`, by the clock of Postgres, however late the statement gets there.
     */
    claim: (
      order: Order,
      asker: Asker,
      {
        since,
        judgedBlock,
        seenBlock,
        isSame,
        isPaid,
        isUntaken,
        requestId,
        until,
      }: {
        since: bigint
        judgedBlock: bigint | null
        seenBlock: bigint
        isSame: boolean
        isPaid: boolean
        isUntaken: boolean
        requestId: string
        until: Date
      },
    ) =>
      one(
        `with fresh as (
           insert into settlements
             (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, idempotency_key, payload, since_block,
              seen_block, request_id, judged_block)
           select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $13, $14, $16, $18 where clock_timestamp() <= $17
           on conflict (network, asset, payer, nonce) do nothing
           returning *
         ), again as (
           update settlements
           set pay_to = $5, amount = $6, client_id = $7, request_hash = $8, idempotency_key = $9, payload = $10,
             since_block = greatest(since_block, $13), seen_block = case when $15 then seen_block else $14 end,
             judged_block = case when $15 then judged_block else $18 end,
             settled_at = case when $15 then settled_at end, request_id = $16,
             status = 'claimed', error_reason = null, error_detail = null, transaction_id = null,
             created_at = now(), updated_at = now(), transaction_hash = case when $12 then null else transaction_hash end
           where ${samePayment} and clock_timestamp() <= $17
             and status = 'failed' and error_reason is distinct from 'transfer_event_mismatch'
             and (transaction_hash is null or $11 or $12 and not exists (
             -- One that is mined took the nonce, whatever a node that is behind says, until a reorg is written down.
             select from charges c join transactions t on t.id = c.transaction_id
             where c.settlement_id = settlements.id and t.nonce is null))
           returning *
         ), claimed as (select * from fresh union all select * from again)
         select ${columns}, pg_notify('${CLAIMED_CHANNEL}', network) from claimed`,
        [
          ...keyOf(order),
          order.terms.payTo,
          order.terms.amount.toString(),
          asker.clientId,
          asker.requestHash,
          asker.idempotencyKey,
          JSON.stringify(order.payload),
          isPaid,
          isUntaken,
          since,
          seenBlock,
          isSame,
          requestId,
          until,
          judgedBlock,
        ],
      ),

    /** What was signed for a settlement when it was last claimed, and the highest block of any node then. */
    async claimedAs(
      id: bigint,
    ): Promise<(Pick<ClaimedAs, 'judgedBlock' | 'seenBlock'> & { payload: unknown }) | undefined> {
      const { rows } = await pool.query<ClaimedAs>(
        `select payload, judged_block as "judgedBlock", seen_block as "seenBlock" from settlements where id = $1`,
        [id],
      )
      return rows[0] && { ...rows[0], payload: JSON.parse(rows[0].payload) as unknown }
    },

    /** Whether both are keys of one user, and if so, whether the `claimer`'s is valid still: keys are changed. */
    async succession(heir: string, claimer: string): Promise<'none' | 'beside' | 'after'> {
      const { rows } = await pool.query<{ isOver: boolean }>(
        `select c.deleted_at is not null or coalesce(c.expires_at <= now(), false) as "isOver"
         from clients h join clients c on c.user_id = h.user_id where h.client_id = $1 and c.client_id = $2`,
        [heir, claimer],
      )
      const [claiming] = rows
      if (!claiming) return 'none'
      return claiming.isOver ? 'after' : 'beside'
    },

    /** Those of `ids` that are over. */
    async over(ids: readonly bigint[]): Promise<Settlement[]> {
      const { rows } = await pool.query<Settlement>(
        `select ${columns} from settlements where id = any($1) and not ${isOpenSql('settlements')}`,
        [ids],
      )
      return rows
    },

    byId: (id: bigint) => one(`select ${columns} from settlements where id = $1`, [id]),

    /**
     * Hands success out: to the first that asks, whose settlement it then is, and from then on only to those who come with
     * its Idempotency-Key. Atomic: of any number of callers without one, one is told true.
     */
    async handOut(
      id: bigint,
      { clientId, idempotencyKey }: Pick<Asker, 'clientId' | 'idempotencyKey'>,
    ): Promise<boolean> {
      const { rowCount } = await pool.query(
        `update settlements
         set idempotency_key = case when handed_out_at is null then $2 else idempotency_key end,
           client_id = case when handed_out_at is null then $3 else client_id end,
           handed_out_at = coalesce(handed_out_at, now()), updated_at = now()
         where id = $1 and status = 'settled' and (handed_out_at is null or idempotency_key = $2)`,
        [id, idempotencyKey, clientId],
      )
      return rowCount === 1
    },
  }
}
