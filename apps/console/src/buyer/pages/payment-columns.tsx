import { Anchor } from '@mantine/core'
import { type PaymentRecord, type Plan } from '@tollgate/wallet'
import { Link } from 'wouter'
import { buyer } from '../../texts'
import { Amount } from '../../ui/amount'
import { transactionUrl } from '../../ui/explorer'
import { readableNumber } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { type Column } from '../../ui/rows'
import { StatusBadge, type Tone } from '../../ui/status-badge'
import { Time } from '../../ui/time'

const tones: Record<string, Tone> = { credited: 'good', failed: 'bad', disputed: 'bad', reversed: 'bad' }

/** A reversed payment keeps its status, but the money is gone. */
export function PaymentStatus({ payment }: { payment: Pick<PaymentRecord, 'status' | 'reversed_at'> }) {
  const status = payment.reversed_at == null ? payment.status : 'reversed'
  return (
    <StatusBadge tone={tones[status] ?? 'waiting'}>
      {(buyer.payments.statuses as Record<string, string>)[status] ?? status}
    </StatusBadge>
  )
}

/** Of the plan it bought; a retired plan is not listed any more. */
export function PaymentAmount({ payment, plans }: { payment: PaymentRecord; plans: readonly Plan[] }) {
  const plan = plans.find(({ id }) => id === payment.pricing_plan_id)
  if (!plan) return <span className="amount">{payment.amount}</span>
  return <Amount amount={payment.amount} decimals={plan.decimals} symbol={plan.display_denom} />
}

export const paymentColumns = (plans: readonly Plan[]): Column<PaymentRecord>[] => [
  {
    title: buyer.payments.time,
    width: 'minmax(9rem, 1fr)',
    cell: ({ id, created_at }) => (
      <Anchor component={Link} href={`/payments/${id}`}>
        <Time at={created_at} />
      </Anchor>
    ),
  },
  {
    title: buyer.payments.status,
    width: 'minmax(8rem, 0.8fr)',
    cell: (payment) => <PaymentStatus payment={payment} />,
  },
  {
    title: buyer.payments.amount,
    width: 'minmax(8rem, 1fr)',
    isRight: true,
    cell: (payment) => <PaymentAmount payment={payment} plans={plans} />,
  },
  {
    title: buyer.payments.credits,
    width: 'minmax(6rem, 0.6fr)',
    isRight: true,
    cell: ({ credits }) => <span className="amount">{readableNumber(credits)}</span>,
  },
  {
    title: buyer.payments.transaction,
    width: 'minmax(14rem, 1.4fr)',
    cell: ({ transaction, chain_id }) =>
      transaction === null ? (
        ''
      ) : (
        <Identifier value={transaction} href={transactionUrl(chain_id, transaction)} />
      ),
  },
]
