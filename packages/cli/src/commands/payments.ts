import { type AssetAmount, type PaymentRecord, type Plan } from '@tollgate/wallet'
import { type Command } from 'commander'
import { toAssetAmount } from '../amounts'
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
      const data = page.data.map((payment) => withPrice(payment, sold))
      const rows = data.map(rowOf)
      output.result({ ...page, data }, (colors) => table(colors, HEAD, rows, 'No payments.'))
      output.note(`${page.data.length} of ${page.total}`)
    }),
  )

const HEAD = ['Time (UTC)', 'Plan', 'Amount', 'Credits', 'Status', 'Network', 'Transaction']

type PricedPayment = PaymentRecord & { price?: AssetAmount }

/** An older gateway states the decimals of its plans only. */
function withPrice(payment: PaymentRecord, plans: readonly Plan[]): PricedPayment {
  const plan = plans.find(
    ({ chain_id, asset_address }) => chain_id === payment.chain_id && asset_address === payment.asset,
  )
  const decimals = payment.decimals ?? plan?.decimals
  const symbol = payment.display_denom ?? plan?.display_denom
  if (decimals === undefined || symbol === undefined) return payment
  return { ...payment, price: toAssetAmount(payment.amount, decimals, symbol) }
}

function rowOf({ price, amount, asset, ...payment }: PricedPayment) {
  const paid = price ? `${price.value} ${price.symbol}` : `${amount} smallest units of ${asset}`
  const { created_at, pricing_plan_id, credits, status, network, transaction } = payment
  return [time(created_at), pricing_plan_id, paid, credits, status, network, transaction]
}
