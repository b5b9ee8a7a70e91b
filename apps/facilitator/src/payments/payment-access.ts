import { type Refusal } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { createBatchLoader } from '../batch-loader'
import { type Caller } from '../clients/store'
import { DENIED, isDeniedSql } from '../settlement/claims/denied-payment'
import { type PaymentRequest } from './payment-request'

type Row = { network: string; payer: string; payTo: string; isDenied: boolean; reservedBy: number | null }

/** Runs for every verification and settlement. */
const ACCESS = `
SELECT payment.network, payment.payer, payment.pay_to AS "payTo", ${isDeniedSql('payment.payer', 'payment.pay_to')} AS "isDenied",
  r.user_id AS "reservedBy"
FROM unnest($1::text[], $2::text[], $3::text[]) AS payment (network, payer, pay_to)
LEFT JOIN reserved_recipients r ON r.network = payment.network AND r.address = payment.pay_to`

/** In the statement of a claim: whether an operator denies the payment, or another user has reserved its recipient. */
export const isForbiddenSql = (row: { network: string; payer: string; payTo: string; clientId: string }) => `(
  ${isDeniedSql(row.payer, row.payTo)}
  OR EXISTS (
    SELECT FROM reserved_recipients r WHERE r.network = ${row.network} AND r.address = ${row.payTo}
      AND r.user_id IS DISTINCT FROM (SELECT user_id FROM clients WHERE clients.client_id = ${row.clientId})))`

/** The statement of a claim asks whether the user of the client key has reserved the recipient. */
export const isOwnRecipientSql = (row: { network: string; payTo: string; clientId: string }) => `EXISTS (
  SELECT FROM reserved_recipients r JOIN clients c ON c.user_id = r.user_id
  WHERE r.network = ${row.network} AND r.address = ${row.payTo} AND c.client_id = ${row.clientId})`

const RESERVED: Refusal = {
  reason: 'invalid_payment_requirements',
  detail: 'payTo is reserved by another account',
}

/** `isOwnRecipient`: the caller's user has reserved it, so that no other shop was paid there. */
export type Access = { refusal: Refusal | undefined; isOwnRecipient: boolean }

export type PaymentAccess = ReturnType<typeof createPaymentAccess>

/** Caches nothing, so that a reservation or a denial applies at once on every replica. */
export function createPaymentAccess(pool: Pool) {
  const find = createBatchLoader<Row>(async (keys) => {
    const payments = keys.map((key) => JSON.parse(key) as [string, string, string])
    const values = [0, 1, 2].map((column) => payments.map((payment) => payment[column]))
    const { rows } = await pool.query<Row>({ name: 'payment-access', text: ACCESS, values })
    return new Map(rows.map((row) => [keyOf(row), row]))
  })

  /** Whether the caller may verify or claim the payment. */
  return async function checkAccess(
    { network, payment, terms }: PaymentRequest,
    { userId }: Pick<Caller, 'userId'>,
  ): Promise<Access> {
    const access = await find(keyOf({ network: network.name, payer: payment.payer, payTo: terms.payTo }))
    const reservedBy = access?.reservedBy ?? null
    const isOwnRecipient = reservedBy === userId
    if (access?.isDenied) return { refusal: DENIED, isOwnRecipient }
    return { refusal: reservedBy === null || isOwnRecipient ? undefined : RESERVED, isOwnRecipient }
  }
}

const keyOf = ({ network, payer, payTo }: Pick<Row, 'network' | 'payer' | 'payTo'>) =>
  JSON.stringify([network, payer, payTo])
