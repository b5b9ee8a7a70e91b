import { type Pool } from '@tollgate/database'

/** An asset with what only operators see. */
export type OperatorAssetRow = {
  id: number
  network: string
  asset: string
  symbol: string
  decimals: number
  active: boolean
  assetTransferMethod: string | null
  minAmount: string | null
  suspendedAt: Date | null
  suspension: string | null
  createdAt: Date
}

const COLUMNS = `id, network, asset, symbol, decimals, active, asset_transfer_method AS "assetTransferMethod",
  min_amount::text AS "minAmount", suspended_at AS "suspendedAt", suspension, created_at AS "createdAt"`

export type OperatorAssetStore = ReturnType<typeof createOperatorAssetStore>

export function createOperatorAssetStore(pool: Pool) {
  return {
    /** In the order of their ids, after that one. */
    async page({ limit, after }: { limit: number; after: bigint }) {
      const { rows } = await pool.query<OperatorAssetRow>(
        `SELECT ${COLUMNS} FROM assets WHERE id > $1 ORDER BY id LIMIT $2`,
        [after, limit + 1],
      )
      return { found: rows.slice(0, limit), hasMore: rows.length > limit }
    },

    async find(id: number): Promise<OperatorAssetRow | undefined> {
      const { rows } = await pool.query<OperatorAssetRow>(`SELECT ${COLUMNS} FROM assets WHERE id = $1`, [id])
      return rows[0]
    },

    /** Needs no node: its chain may be unavailable or its token broken. A suspension stays on record. */
    async deactivate(id: number): Promise<OperatorAssetRow | undefined> {
      const { rows } = await pool.query<OperatorAssetRow>(
        `UPDATE assets SET active = false WHERE id = $1 RETURNING ${COLUMNS}`,
        [id],
      )
      return rows[0]
    },
  }
}
