import { type PaymentRecord, type Plan } from '@tollgate/wallet'
import { type Command } from 'commander'
import { formatAmount } from '../amounts'
import { table, time } from '../output/table'
import { readPages, type PagingOptions } from '../pages'
import { type Run } from '../run-command'
import { withPaging } from './history'
import { describe } from './help'

export const paymentsCommand = (run: Run): Command =>
  withPaging(
    describe(
      'payments',
      'List the payments of the wallet at the gateway, the newest first',
      'tollgate payments --all --json',
    ),
  ).action(
    run<PagingOptions>(async ({ options, open, output }) => {
      const { tollgate, plans } = await open()
      const [page, sold] = await Promise.all([
        readPages((query) => tollgate.payments(query), options),
        plans(),
      ])
      const rows = page.data.map((payment) => rowOf(payment, sold))
      output.result(page, (colors) => table(colors, HEAD, rows, 'No payments.'))
      output.note(`${page.data.length} of ${page.total}`)
    }),
  )

const HEAD = ['Time (UTC)', 'Plan', 'Amount', 'Credits', 'Status', 'Network', 'Transaction']

function rowOf(payment: PaymentRecord, plans: readonly Plan[]) {
  const plan = plans.find(
    ({ chain_id, asset_address }) => chain_id === payment.chain_id && asset_address === payment.asset,
  )
  const amount = plan
    ? `${formatAmount(payment.amount, plan.decimals)} ${plan.display_denom}`
    : `${payment.amount} ${payment.asset}`
  const { created_at, pricing_plan_id, credits, status, network, transaction } = payment
  return [time(created_at), pricing_plan_id, amount, credits, status, network, transaction]
}
