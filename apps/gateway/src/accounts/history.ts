import { type GatewayDatabase } from '@tollgate/database'
import {
  PaymentHistoryRecord,
  UsageRecord,
  type HistoryQuery,
  type PaymentPage,
  type PaymentsQuery,
  type UsagePage,
} from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { PAYMENT_PAGE, USAGE_PAGE, type PaymentRow, type UsageRow } from './history-sql'

export type History = ReturnType<typeof createHistory>

/**
 * Newest first. Pages that follow `before` repeat and skip no row that existed when the first was read: ids of an account are
 * assigned under its lock, so no lower id appears later.
 */
export function createHistory({ pool }: GatewayDatabase) {
  return {
    async getUsagePage(wallet: string, { limit, offset, plan_id, before }: HistoryQuery): Promise<UsagePage> {
      const { rows } = await pool.query<UsageRow>({
        name: 'usage-page',
        text: USAGE_PAGE,
        values: [wallet, plan_id ?? null, before ?? Number.MAX_SAFE_INTEGER, limit, offset],
      })
      const data = rows
        .filter((row) => row.id !== null)
        .map((row) =>
          UsageRecord.parse({ ...row, id: Number(row.id), created_at: row.created_at.toISOString() }),
        )
      return { data, pagination: { limit, offset, total: totalOf(rows) } }
    },

    /** @throws ApiError INVALID_REQUEST if `before` is no payment of this wallet */
    async getPaymentPage(wallet: string, { limit, offset, before }: PaymentsQuery): Promise<PaymentPage> {
      const { rows } = await pool.query<PaymentRow>({
        name: 'payment-page',
        text: PAYMENT_PAGE,
        values: [wallet, before ?? null, limit, offset],
      })
      if (rows[0]?.is_known === false)
        throw new ApiError('INVALID_REQUEST', 'before: this wallet has no payment of that id')
      const data = rows
        .filter((row) => row.id !== null)
        .map((row) =>
          PaymentHistoryRecord.parse({
            ...row,
            block_number: row.block_number === null ? null : Number(row.block_number),
            created_at: row.created_at.toISOString(),
            settled_at: row.settled_at?.toISOString() ?? null,
          }),
        )
      return { data, pagination: { limit, offset, total: totalOf(rows) } }
    },
  }
}

const totalOf = ([row]: { total: bigint }[]) => Number(row?.total ?? 0n)
