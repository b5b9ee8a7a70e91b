import { type Pool } from '@tollgate/database'
import { isOpenSql, type OpenStatus } from '../../settlement/status'

/** An open settlement of this age is stuck. */
export const STUCK_SECONDS = 120

/** The open settlements of a network in one state. */
export type OpenSettlements = {
  network: string
  state: OpenStatus
  count: bigint
  stuck: bigint
  oldestSeconds: number
  oldest: bigint
  lastError: string | null
}

const OPEN = `
SELECT network, status AS state, count(*) AS count,
  count(*) FILTER (WHERE created_at < now() - make_interval(secs => $1)) AS stuck,
  extract(epoch FROM now() - min(created_at))::float8 AS "oldestSeconds",
  (array_agg(id ORDER BY created_at, id))[1] AS oldest, (array_agg(last_error ORDER BY created_at, id))[1] AS "lastError"
FROM settlements WHERE ${isOpenSql('settlements')} GROUP BY network, status`

/** Also of networks that are no longer configured. */
export const readOpenSettlements = async (pool: Pick<Pool, 'query'>): Promise<OpenSettlements[]> =>
  (await pool.query<OpenSettlements>({ name: 'open-settlements', text: OPEN, values: [STUCK_SECONDS] })).rows
