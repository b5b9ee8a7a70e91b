import { type Pool } from '@tollgate/database'
import { isOpenSql, isReversedFinalSql, openStatuses, type SettlementStatus } from '../../settlement/status'
import { CLAIMED_CHANNEL } from '../../settlement/channels'
import { auditSettlements } from './audit-settlements'
import { LISTED_COLUMNS, LISTED_FROM, type ListedSettlement } from './listed-settlement'
import { readSettlementDetail, type SettlementDetail } from './settlement-detail'
import { readSuspended } from '../monitoring/suspended-assets'

export const listedStates = [...openStatuses, 'reversed-final'] as const
export type ListedState = (typeof listedStates)[number]

export type Filter = {
  network?: string | undefined
  /** Default: all open states. */
  state?: ListedState | undefined
  olderThanSeconds: number
  limit: number
}

/** `state` is undefined if there is no such settlement. */
export type Retry = {
  id: bigint
  isRetried: boolean
  /** The payer signed the transaction, so its fees cannot change. */
  isPayersOwn: boolean
  state: SettlementStatus | undefined
  signer: string | null
  errorReason: string | null
}

const listed = (which: string, order: string) => `
SELECT ${LISTED_COLUMNS}, count(*) OVER () AS total
FROM ${LISTED_FROM}
WHERE ${which} AND ($1::text IS NULL OR s.network = $1) AND s.created_at <= now() - make_interval(secs => $2)
ORDER BY ${order} LIMIT $3`

const OPEN = listed(`${isOpenSql('s')} AND ($4::text IS NULL OR s.status = $4)`, 's.created_at, s.id')
const REVERSED_FOR_GOOD = listed(isReversedFinalSql('s'), 's.updated_at DESC, s.id DESC')

const isPayersOwn = `EXISTS (SELECT FROM transactions t WHERE t.id = s.transaction_id AND t.nonce IS NULL)`

/** Locks rows in the order of their ids, as the settlers do, to avoid deadlocks. */
const RETRY = `
WITH open AS MATERIALIZED (
  SELECT id FROM settlements s WHERE id = ANY ($1::bigint[]) AND ${isOpenSql('s')} AND NOT ${isPayersOwn}
  ORDER BY id FOR UPDATE
), retried AS (
  UPDATE settlements SET retry_requested_at = now() FROM open WHERE settlements.id = open.id
  RETURNING settlements.id, pg_notify($2, network)
)
SELECT asked.id, retried.id IS NOT NULL AS "isRetried", ${isPayersOwn} AS "isPayersOwn", s.status AS state,
  t.signer, s.error_reason AS "errorReason"
FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (id, place)
  LEFT JOIN retried USING (id) LEFT JOIN settlements s USING (id) LEFT JOIN transactions t ON t.id = s.transaction_id
ORDER BY place`

export type OperatorStore = ReturnType<typeof createOperatorStore>

export function createOperatorStore(pool: Pool) {
  return {
    /** Open ones oldest first, reversed ones newest first, with the total count. */
    async list({
      network,
      state,
      olderThanSeconds,
      limit,
    }: Filter): Promise<{ found: ListedSettlement[]; total: number }> {
      const values = [network ?? null, olderThanSeconds, limit]
      const { rows } =
        state === 'reversed-final'
          ? await pool.query<ListedSettlement & { total: bigint }>(REVERSED_FOR_GOOD, values)
          : await pool.query<ListedSettlement & { total: bigint }>(OPEN, [...values, state ?? null])
      const found = rows.map(({ total, ...one }) => ({ total, one }))
      return { found: found.map(({ one }) => one), total: Number(found[0]?.total ?? 0n) }
    },

    one: (id: bigint): Promise<SettlementDetail | undefined> => readSettlementDetail(pool, id),

    /** Whether an asset was registered on a network of this name. */
    async hasNetwork(network: string): Promise<boolean> {
      const { rowCount } = await pool.query('SELECT FROM assets WHERE network = $1 LIMIT 1', [network])
      return rowCount === 1
    },

    audit: () => auditSettlements(pool),

    suspendedAssets: () => readSuspended(pool),

    /** Completed settlements stay as they are. */
    async retry(ids: readonly bigint[]): Promise<Retry[]> {
      const { rows } = await pool.query<Retry & { state: Retry['state'] | null }>(RETRY, [
        ids,
        CLAIMED_CHANNEL,
      ])
      return rows.map((row) => ({ ...row, state: row.state ?? undefined }))
    },
  }
}
