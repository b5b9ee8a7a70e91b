import { type Pool } from '@tollgate/database'
import { isOpenSql, isReversedForGoodSql, openStates, type OpenState, type State } from '../payments/state'
import { CLAIMED_CHANNEL } from '../payments/store'
import { readShown, type Shown } from './shown'
import { readSuspended } from './suspended-assets'

/** What may be listed: what is open, and of what is over, only what somebody should know of. */
export const listedStates = [...openStates, 'reversed-for-good'] as const
export type ListedState = (typeof listedStates)[number]

export type Filter = {
  network?: string | undefined
  /** All that is open unless told. */
  state?: ListedState | undefined
  /** Claimed at least so long ago. */
  olderThanSeconds: number
  limit: number
}

/** One line of the list. Times are of the database's clock, amounts in smallest units. */
export type Listed = {
  id: bigint
  network: string
  state: OpenState
  ageSeconds: number
  updatedAt: Date
  clientId: string
  payer: string
  amount: string
  symbol: string
  decimals: number
  /** Null where nothing is signed for it at present, and the nonce where the payer signed the transaction. */
  signer: string | null
  nonce: bigint | null
  transactionHash: string | null
  attempts: number
  problem: string | null
  /** Of one that is reversed for good. */
  errorReason: string | null
}

/** What became of the wish to have one tried again; `state` is undefined where there is no such settlement. */
export type Retry = {
  id: bigint
  isRetried: boolean
  /** The payer signed its transaction whole: nobody else can have it offer more. */
  isPayersOwn: boolean
  state: State | undefined
  /** Of the transaction that it is in at present. */
  signer: string | null
  errorReason: string | null
}

const listed = (which: string, order: string) => `
SELECT s.id, s.network, s.status AS state, extract(epoch FROM now() - s.created_at)::float8 AS "ageSeconds",
  s.updated_at AS "updatedAt", s.client_id AS "clientId", s.payer, s.amount, a.symbol, a.decimals, t.signer, t.nonce,
  s.transaction_hash AS "transactionHash", s.attempts, s.problem, s.error_reason AS "errorReason", count(*) OVER () AS total
FROM settlements s JOIN assets a USING (network, asset) LEFT JOIN transactions t ON t.id = s.transaction_id
WHERE ${which} AND ($1::text IS NULL OR s.network = $1) AND s.created_at <= now() - make_interval(secs => $2)
ORDER BY ${order} LIMIT $3`

const OPEN = listed(`${isOpenSql('s')} AND ($4::text IS NULL OR s.status = $4)`, 's.created_at, s.id')
const REVERSED_FOR_GOOD = listed(isReversedForGoodSql('s'), 's.updated_at DESC, s.id DESC')

const isPayersOwn = `EXISTS (SELECT FROM transactions t WHERE t.id = s.transaction_id AND t.nonce IS NULL)`

/** Locked in the order of their ids, as the settlers lock them. */
const RETRY = `
WITH open AS MATERIALIZED (
  SELECT id FROM settlements s WHERE id = ANY ($1::bigint[]) AND ${isOpenSql('s')} AND NOT ${isPayersOwn}
  ORDER BY id FOR UPDATE
), retried AS (
  UPDATE settlements SET retry_at = now() FROM open WHERE settlements.id = open.id
  RETURNING settlements.id, pg_notify($2, network)
)
SELECT asked.id, retried.id IS NOT NULL AS "isRetried", ${isPayersOwn} AS "isPayersOwn", s.status AS state,
  t.signer, s.error_reason AS "errorReason"
FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (id, place)
  LEFT JOIN retried USING (id) LEFT JOIN settlements s USING (id) LEFT JOIN transactions t ON t.id = s.transaction_id
ORDER BY place`

export type OperatorStore = ReturnType<typeof createOperatorStore>

/** Settlements as operators see them, and the one thing that they may do: have those that are open tried again. */
export function createOperatorStore(pool: Pool) {
  return {
    /** The open ones, oldest first, or those reversed for good, newest first; and how many there are in all. */
    async list({
      network,
      state,
      olderThanSeconds,
      limit,
    }: Filter): Promise<{ found: Listed[]; total: number }> {
      const values = [network ?? null, olderThanSeconds, limit]
      const { rows } =
        state === 'reversed-for-good'
          ? await pool.query<Listed & { total: bigint }>(REVERSED_FOR_GOOD, values)
          : await pool.query<Listed & { total: bigint }>(OPEN, [...values, state ?? null])
      const found = rows.map(({ total, ...one }) => ({ total, one }))
      return { found: found.map(({ one }) => one), total: Number(found[0]?.total ?? 0n) }
    },

    one: (id: bigint): Promise<Shown | undefined> => readShown(pool, id),

    suspendedAssets: () => readSuspended(pool),

    /** All at once, in one statement. What is over stays as it is. */
    async retry(ids: readonly bigint[]): Promise<Retry[]> {
      const { rows } = await pool.query<Retry & { state: Retry['state'] | null }>(RETRY, [
        ids,
        CLAIMED_CHANNEL,
      ])
      return rows.map((row) => ({ ...row, state: row.state ?? undefined }))
    },
  }
}
