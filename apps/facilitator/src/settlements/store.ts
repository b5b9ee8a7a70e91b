import { type Pool } from '@tollgate/database'
import { type Position } from './cursor'
import { type Filters } from './filters'
import { type VersionRow } from './history'
import { type Merchant } from './merchant-guard'
import { pageQuery } from './page-sql'
import { type SettlementRow } from './settlement'

export type MerchantSettlementStore = ReturnType<typeof createMerchantSettlementStore>

/** A mined transaction has the hash of the version that was mined. */
const VERSIONS = `
SELECT t.id AS "transactionId", v.hash, v.created_at AS "createdAt", v.hash = t.hash AS "isNewest", t.status, t.signer, t.nonce,
  t.accepted_at AS "acceptedAt", t.block_number AS "blockNumber", f.fee::text AS share
FROM transactions t JOIN transaction_versions v ON v.transaction_id = t.id
  LEFT JOIN fee_allocations f ON f.transaction_id = t.id AND f.settlement_id = $1
WHERE t.id IN (
  SELECT transaction_id FROM settlements WHERE id = $1
  UNION SELECT transaction_id FROM fee_allocations WHERE settlement_id = $1)
ORDER BY t.id, v.created_at, v.hash`

/** Settlements as their merchants see them. */
export function createMerchantSettlementStore(pool: Pool) {
  return {
    /** The newest first. Not prepared: a generic plan would read too many rows. */
    async page(
      merchant: Merchant,
      filters: Filters,
      position: { after?: Position | undefined; limit: number },
    ): Promise<SettlementRow[]> {
      return (await pool.query<SettlementRow>(pageQuery(merchant, filters, position))).rows
    },

    /** Every version of every transaction that the settlement is or was in, oldest first. */
    async versions(id: bigint): Promise<VersionRow[]> {
      return (await pool.query<VersionRow>(VERSIONS, [id])).rows
    },
  }
}
