import { type Pool } from '@tollgate/database'
import { SettleRequest } from '@tollgate/protocol'

/** Of the one call that a payment without a session serves. */
type CallState = 'open' | 'reserved' | 'served'

export type PaymentStatus = 'received' | 'settling' | 'settled' | 'credited' | 'failed' | 'disputed'

/**
 * received -> settling -> settled -> credited | failed. A payment that moved other money than its payer signed is `disputed`
 * until an operator credits it or closes it as failed.
 */
export type PaymentRecord = {
  id: string
  wallet: string
  planId: number
  network: string
  payer: string
  amount: string
  credits: number
  status: PaymentStatus
  transaction: string | null
  blockNumber: bigint | null
  errorReason: string | null
  errorDetail: string | null
  attempts: number
  /** Incremented each time a refused payment is reopened. */
  round: number
  createdAt: Date
  /** It was on chain before it was first presented: it serves no call without a sign-in, because anyone can read it there. */
  arrived: boolean
  /** Null for a payment of a session, which serves no call by itself, and for one that had arrived. */
  callState: CallState | null
  /** See {@link Buyer}. */
  presentedBy: Buffer | null
  /** Of the request that brought it, if its trace is sampled. */
  traceparent: string | null
  /** Read from the database each time, so that every settle request for a payment is identical. */
  request: SettleRequest
}

export const COLUMNS = `id, wallet, pricing_plan_id AS "planId", network, payer, amount, credits, status, transaction,
  block_number AS "blockNumber", error_reason AS "errorReason", error_detail AS "errorDetail", attempts, round, created_at AS "createdAt",
  arrived, call_state AS "callState", presented_by AS "presentedBy", traceparent, request`

export const createPaymentQuery =
  (pool: Pool) =>
  async <Row extends PaymentRecord>(name: string, text: string, values: unknown[]): Promise<Row[]> =>
    (await pool.query<Row>({ name: `payment-${name}`, text, values })).rows.map((row) => ({
      ...row,
      request: SettleRequest.parse(row.request),
    }))
