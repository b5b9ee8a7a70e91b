import { type Pool } from '@tollgate/database'
import { type Position } from '../../settlements/cursor'
import { filterConditions, referenceConditions, type Add } from '../../settlements/filter-sql'
import { type Filters } from '../../settlements/filters'
import { createMerchantSettlementStore } from '../../settlements/store'

/** `at` is the time that the list is ordered by. */
export type FoundSettlement = { id: bigint; at: Date }

export type SettlementSearch = ReturnType<typeof createSettlementSearch>

/** Finds settlements of all merchants, in any state. Neither order changes for a settlement that stays in its list. */
export function createSettlementSearch(pool: Pool) {
  const settlements = createMerchantSettlementStore(pool)
  return {
    /** The newest claims first. */
    async claimed(
      filters: Filters,
      { after, limit }: { after?: FoundSettlement | undefined; limit: number },
    ): Promise<FoundSettlement[]> {
      const position: Position | undefined = after && { claimedAt: after.at, id: after.id }
      const found = await settlements.page('all', filters, { after: position, limit })
      return found.map(({ id, claimedAt }) => ({ id, at: claimedAt }))
    },

    /** Those that ended within these hours, the newest end first. */
    async ended(
      filters: Filters,
      hours: number,
      { after, limit }: { after?: FoundSettlement | undefined; limit: number },
    ): Promise<FoundSettlement[]> {
      return (await pool.query<FoundSettlement>(endedQuery(filters, hours, { after, limit }))).rows
    },
  }
}

/** Each client key has its part of the index of ended settlements, which is read from its newest entry. */
function endedQuery(
  filters: Filters,
  hours: number,
  { after, limit }: { after?: FoundSettlement | undefined; limit: number },
): { text: string; values: unknown[] } {
  const values: unknown[] = []
  const add: Add = (value, type) => `$${values.push(value)}::${type}`
  const conditions = [
    's.client_id = clients.client_id',
    `s.ended_at > now() - make_interval(hours => ${add(hours, 'int')})`,
    ...(after ? [`(s.ended_at, s.id) < (${add(after.at, 'timestamptz')}, ${add(after.id, 'bigint')})`] : []),
    ...filterConditions(filters, add),
    ...referenceConditions(filters, add),
  ]
  const newest = `ORDER BY at DESC, id DESC LIMIT ${add(limit, 'int')}`
  return {
    text: `
SELECT part.id, part.at FROM clients CROSS JOIN LATERAL (
  SELECT s.id, s.ended_at AS at FROM settlements s WHERE ${conditions.join(' AND ')} ${newest}) AS part
${newest}`,
    values,
  }
}
