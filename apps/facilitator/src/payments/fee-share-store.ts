import { type Pool } from '@tollgate/database'
import { type FeePart, type Spender, type Spent } from './fee-allowance'
import { type Session } from './settler-store'

/** Counted as `feesOfDay` of the signing store counts the network's. */
const SPENT = `
with counted as (
  select id, case when fee is null or is_first then cost else fee end as fees from transactions
  where network = $1 and cost > 0 and nonce is not null and (status <> 'lost' or is_first)
    and signed_at > now() - interval '1 day'
)
select f.client_id as "clientId", c.user_id as "userId", u.fee_share_bps is null as "isNew",
  sum(ceil(t.fees * f.part / f.whole)) as fees, min(ceil(t.fees * f.part / f.whole / f.payments)) as cheapest
from counted t join fee_shares f on f.transaction_id = t.id
  join clients c on c.client_id = f.client_id join users u on u.id = c.user_id
group by f.client_id, c.user_id, u.fee_share_bps`

export type FeeShareStore = ReturnType<typeof createFeeShareStore>

/** For whom the network's fees are spent. What is done on a `session` is part of the transaction open there. */
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
      const { rows } = await session.query<Spender>(
        `select c.client_id as "clientId", c.user_id as "userId", c.fee_share_bps as "feeShareBps",
           u.fee_share_bps as "userFeeShareBps"
         from clients c join users u on u.id = c.user_id where c.client_id = any($1)`,
        [clientIds],
      )
      return rows
    },

    /** Of the transaction with this hash, which is stored in the same transaction of the database. */
    async record(session: Session, hash: string, parts: readonly FeePart[]): Promise<void> {
      await session.query(
        `insert into fee_shares (transaction_id, client_id, payments, part, whole)
         select t.id, p.client_id, p.payments, p.part, sum(p.part) over ()
         from transactions t, unnest($2::text[], $3::int[], $4::numeric[]) as p (client_id, payments, part)
         where t.hash = $1
         on conflict (transaction_id, client_id)
         do update set payments = excluded.payments, part = excluded.part, whole = excluded.whole`,
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
