import { type AssetLimit, type Plan } from '@tollgate/wallet'
import { type Command } from 'commander'
import { formatAmount, networkOf, priceOf } from '../amounts'
import { assertKnownAsset, parseAssets } from '../assets/known-assets'
import { CommandError, EXIT, UsageError } from '../exit-codes'
import { approveSameAsset, candidates, parsePlan, unitsOf, type DecidePayment } from '../open-client'
import { printable } from '../output/printable'
import { facts, time } from '../output/table'
import { confirm } from '../prompts'
import { type Context, type Run } from '../run-command'
import { findOpenPayments } from '../stored-payments'
import { describe } from './help'

type Options = { yes?: boolean }

export const buyCommand = (run: Run): Command =>
  describe(
    'buy',
    'Buy the credits of a plan. Shows the price and asks; never pays more than what is confirmed',
    'tollgate buy --plan 1 --keystore wallet.json',
    'tollgate buy --plan 1 --yes --max-payment 0.05 --json',
  )
    .option('-y, --yes', 'pay without a question; for programs, best with --max-payment')
    .action(
      run<Options>(async (context) => {
        const { open, output } = context
        const confirmed: { plan?: Plan } = {}
        const { tollgate, wallet } = await open(async (facts) => {
          const terms = await decide(facts, context)
          confirmed.plan = terms.plan
          return terms
        })
        const { plan } = confirmed
        if (!plan) throw new Error('No plan was confirmed')
        const done = output.progress(`Paying ${priceOf(plan)}, which settles on ${plan.network}`)
        const { planId, amount, credits, transaction } = await tollgate.buy().finally(done)
        output.result(
          {
            ...{ plan_id: planId, credits, amount, transaction },
            ...{ network: networkOf(plan), asset: plan.asset_address, wallet: wallet.address },
          },
          (colors) =>
            facts(colors, [
              ['Bought', `${credits} credits of plan ${planId}`],
              ['Paid', `${formatAmount(amount, plan.decimals)} ${plan.display_denom}`],
              ['Transaction', transaction],
            ]),
        )
      }),
    )

/** The limit of the payment is exactly the price that was confirmed. */
async function decide(
  { wallet, plans, storage, url }: Parameters<DecidePayment>[0],
  context: Context<Options>,
): Promise<Awaited<ReturnType<DecidePayment>> & { plan: Plan }> {
  const { options, output, terminal } = context
  const known = parseAssets(options.asset ?? [])
  const plan = choosePlan(await plans(), { id: parsePlan(options.plan), ecosystem: wallet.ecosystem })
  const asset = assertKnownAsset(plan, known)
  const approve = await approveSameAsset(asset, { wallet, storage, url, options })
  const shownPrice = `${formatAmount(plan.amount, asset.decimals)} ${asset.symbol ?? plan.display_denom}`
  const { maxPayment, maxDay } = options
  const price = BigInt(plan.amount)
  if (maxPayment !== undefined && unitsOf('--max-payment', maxPayment, asset) < price)
    throw new CommandError(
      'LIMIT_REACHED',
      `Plan ${plan.id} costs ${shownPrice}, more than --max-payment ${maxPayment}`,
      'Raise --max-payment, or choose another plan (see `tollgate plans`).',
      EXIT.PAYMENT_NEEDED,
    )
  for (const { signedAt } of await findOpenPayments(storage, wallet.address))
    output.note(
      `A payment of this wallet, signed ${time(new Date(signedAt).toISOString())} UTC, is open. For the same plan it is sent again, instead of another one.`,
    )
  if (!options.yes) {
    const offer = `${plan.credits} credits of plan ${plan.id} (${plan.plan_name}) for ${shownPrice} on ${plan.network}`
    const money = `${plan.amount} smallest units of ${printable(plan.asset_address)}`
    output.note(`${offer}, which are ${money}\nfrom ${wallet.address}\nto   ${plan.pay_to}`)
    if (!(await confirm(terminal, `Pay ${shownPrice}?`, '--yes')))
      throw new CommandError(
        'PAYMENT_NOT_APPROVED',
        'Not confirmed; nothing was paid',
        '',
        EXIT.PAYMENT_NEEDED,
      )
  }
  const limit: AssetLimit = {
    network: asset.network,
    asset: asset.asset,
    perPayment: price,
    ...(maxDay === undefined ? {} : { perDay: unitsOf('--max-day', maxDay, asset) }),
  }
  return { plan, planId: plan.id, limits: { assets: [limit], recipients: [plan.pay_to], approve } }
}

/** @throws UsageError if the user has to say which */
function choosePlan(plans: readonly Plan[], choice: { id: number | undefined; ecosystem: string }): Plan {
  const [plan, ...others] = candidates(plans, choice)
  if (!plan) throw new UsageError(`No plan is paid by ${choice.ecosystem} wallets; see \`tollgate plans\``)
  if (plan.ecosystem !== choice.ecosystem)
    throw new UsageError(
      `Plan ${plan.id} is paid by ${plan.ecosystem} wallets, and this is one of ${choice.ecosystem}`,
    )
  if (others.length === 0) return plan
  const list = [plan, ...others].map((one) => `${one.id} (${one.plan_name}, ${priceOf(one)})`).join(', ')
  throw new UsageError(`Say which plan to buy with --plan: ${list}`)
}
