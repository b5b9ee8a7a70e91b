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
import {
  ACCOUNTS,
  PAYMENT,
  PAYMENT_PAGE,
  usagePage,
  type AccountRow,
  type PaymentDetailsRow,
  type PaymentPageRow,
  type PaymentRow,
  type UsageRow,
} from './history-sql'

type CallRange = Pick<HistoryQuery, 'limit' | 'offset' | 'before'>

export type History = ReturnType<typeof createHistory>

/**
 * Newest first. Pages that follow `before` repeat and skip no row that existed when the first was read: ids of an account are
 * assigned under its lock, so no lower id appears later.
 */
export function createHistory({ pool }: GatewayDatabase) {
  async function findAccounts(wallet: string, planId?: number): Promise<AccountRow[]> {
    const values = [wallet, planId ?? null]
    return (await pool.query<AccountRow>({ name: 'history-accounts', text: ACCOUNTS, values })).rows
  }

  async function findCalls(accountIds: bigint[], { limit, offset, before }: CallRange): Promise<UsageRow[]> {
    const count = accountIds.length
    if (count === 0) return []
    const values = [before ?? Number.MAX_SAFE_INTEGER, limit, offset, ...accountIds]
    return (await pool.query<UsageRow>({ name: `usage-page-${count}`, text: usagePage(count), values })).rows
  }

  return {
    async getUsagePage(wallet: string, { limit, offset, plan_id, before }: HistoryQuery): Promise<UsagePage> {
      const accounts = await findAccounts(wallet, plan_id)
      const planOf = new Map(accounts.map(({ id, pricing_plan_id }) => [id, pricing_plan_id]))
      const total = accounts.reduce((sum, { calls }) => sum + calls, 0n)
      const rows = await findCalls([...planOf.keys()], { limit, offset, before })
      const data = rows.map(({ account_id, ...row }) =>
        UsageRecord.parse({
          ...row,
          id: Number(row.id),
          pricing_plan_id: planOf.get(account_id),
          created_at: row.created_at.toISOString(),
        }),
      )
      return { data, pagination: { limit, offset, total: Number(total) } }
    },

    /** @throws ApiError INVALID_REQUEST if `before` is no payment of this wallet */
    async getPaymentPage(wallet: string, { limit, offset, before }: PaymentsQuery): Promise<PaymentPage> {
      const { rows } = await pool.query<PaymentPageRow>({
        name: 'payment-page',
        text: PAYMENT_PAGE,
        values: [wallet, before ?? null, limit, offset],
      })
      if (rows[0]?.is_known === false)
        throw new ApiError('INVALID_REQUEST', 'before: this wallet has no payment of that id')
      const data = rows.filter((row) => row.id !== null).map(paymentOf)
      return { data, pagination: { limit, offset, total: Number(rows[0]?.total ?? 0n) } }
    },

    /** `record` is public. */
    async findPayment(wallet: string, id: string) {
      const { rows } = await pool.query<PaymentDetailsRow>({
        name: 'payment',
        text: PAYMENT,
        values: [wallet, id],
      })
      const [row] = rows
      return row && { record: paymentOf(row), errorReason: row.error_reason }
    },
  }
}

const paymentOf = (row: PaymentRow): PaymentHistoryRecord =>
  PaymentHistoryRecord.parse({
    ...row,
    block_number: row.block_number === null ? null : Number(row.block_number),
    created_at: row.created_at.toISOString(),
    settled_at: row.settled_at?.toISOString() ?? null,
    reversed_at: row.reversed_at?.toISOString() ?? null,
  })
