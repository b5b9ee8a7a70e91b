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

/** As the record says, also of a plan that is not listed any more; else as the plan does that is paid in the same asset. */
export function PaymentAmount({ payment, plans }: { payment: PaymentRecord; plans: Plans }) {
  const { amount, decimals, display_denom: symbol } = payment
  if (decimals != null && symbol != null)
    return <Amount amount={amount} decimals={decimals} symbol={symbol} />
  const plan = plans?.find(
    ({ chain_id, asset_address }) => chain_id === payment.chain_id && asset_address === payment.asset,
  )
  if (plan) return <Amount amount={amount} decimals={plan.decimals} symbol={plan.display_denom} />
  return <span className="amount">{buyer.payments.smallestUnits(amount)}</span>
}

/** Undefined until they are read. */
type Plans = readonly Plan[] | undefined

export const paymentColumns = (plans: Plans): Column<PaymentRecord>[] => [
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
