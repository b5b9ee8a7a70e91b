import { type Plan } from '@tollgate/wallet'
import { type Command } from 'commander'
import { priceOf, toAssetAmount } from '../amounts'
import { openReader } from '../open-client'
import { table } from '../output/table'
import { type Run } from '../run-command'
import { describe } from './help'

export const plansCommand = (run: Run): Command =>
  describe(
    'plans',
    'List what the gateway sells. No wallet is needed',
    'tollgate plans --url https://gateway.example',
  ).action(
    run(async ({ options, output }) => {
      const plans = await openReader(options).plans()
      const priced = plans.map((plan) => ({
        ...plan,
        price: toAssetAmount(plan.amount, plan.decimals, plan.display_denom),
      }))
      output.result(priced, (colors) => table(colors, HEAD, plans.map(rowOf), 'Nothing is on sale.'))
    }),
  )

const HEAD = ['Plan', 'Name', 'Price', 'Credits', 'Paid on', 'By wallets of', 'For calls to']

const rowOf = (plan: Plan) => [
  plan.id,
  plan.plan_name,
  priceOf(plan),
  plan.credits,
  plan.network,
  plan.ecosystem,
  [...new Set(plan.calls.map(({ chain_id }) => chain_id))].join(', '),
]
