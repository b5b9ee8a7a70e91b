import { type Pool } from '@tollgate/database'
import { isOpenSql, isReversedFinalSql, type OpenStatus } from '../../settlement/status'
import { LISTED_COLUMNS, LISTED_FROM, type ListedSettlement } from './listed-settlement'
import { type Progress } from './next-step'
import { STUCK_SECONDS } from './open-settlements'

export type PagedSettlement = ListedSettlement & { isStuck: boolean; createdAt: Date; progress: Progress }

type Row = Omit<PagedSettlement, 'progress'> & {
  successReportedAt: Date | null
  transactionState: NonNullable<Progress['transaction']>['state'] | null
  acceptedAt: Date | null
}

/** $1 network, $2 maximum of rows, $3 stuck after seconds. */
const page = (which: string, after: string, order: string) => `
SELECT ${LISTED_COLUMNS}, s.created_at AS "createdAt", s.success_reported_at AS "successReportedAt",
  t.status AS "transactionState", t.accepted_at AS "acceptedAt",
  ${isOpenSql('s')} AND s.created_at < now() - make_interval(secs => $3) AS "isStuck"
FROM ${LISTED_FROM}
WHERE ${which} AND ($1::text IS NULL OR s.network = $1) AND ${after}
ORDER BY ${order} LIMIT $2`

const OPEN = page(
  `${isOpenSql('s')} AND ($4::text IS NULL OR s.status = $4)
  AND s.created_at <= now() - make_interval(secs => $5)`,
  '($6::timestamptz IS NULL OR (s.created_at, s.id) > ($6, $7::bigint))',
  's.created_at, s.id',
)
const NAMED = page('s.id = ANY ($4::bigint[])', 'true', 's.id')
const REVERSED_FINAL = page(isReversedFinalSql('s'), '($4::bigint IS NULL OR s.id < $4)', 's.id DESC')

export type PageFilter = { network?: string | undefined; limit: number }

export type SettlementPages = ReturnType<typeof createSettlementPages>

/** Pages that neither repeat nor skip a settlement that stays in its list while others are written. */
export function createSettlementPages(pool: Pool) {
  async function read(text: string, { network, limit }: PageFilter, more: readonly unknown[]) {
    const { rows } = await pool.query<Row>(text, [network ?? null, limit + 1, STUCK_SECONDS, ...more])
    return { found: rows.slice(0, limit).map(withProgress), hasMore: rows.length > limit }
  }

  return {
    /** Oldest first, after the settlement of this time and id. */
    open(
      filter: PageFilter & { state?: OpenStatus | undefined; isStuck: boolean },
      after?: { createdAt: Date; id: bigint },
    ) {
      const { state = null, isStuck } = filter
      const more = [state, isStuck ? STUCK_SECONDS : 0, after?.createdAt ?? null, after?.id ?? null]
      return read(OPEN, filter, more)
    },

    /** Newest claims first, before the settlement of this id. */
    reversedFinal: (filter: PageFilter, before?: bigint) => read(REVERSED_FINAL, filter, [before ?? null]),

    /** Keeps the order of the ids, and leaves out those that are deleted. */
    async named(ids: readonly bigint[]): Promise<PagedSettlement[]> {
      const { found } = await read(NAMED, { limit: ids.length }, [ids])
      const byId = new Map(found.map((settlement) => [settlement.id, settlement]))
      return ids.flatMap((id) => byId.get(id) ?? [])
    },
  }
}

function withProgress({ successReportedAt, transactionState, acceptedAt, ...row }: Row): PagedSettlement {
  const { state, attempts, errorReason, nonce } = row
  const transaction = transactionState && { state: transactionState, nonce, acceptedAt }
  return { ...row, progress: { state, attempts, errorReason, successReportedAt, transaction } }
}
