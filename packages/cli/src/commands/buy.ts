import { type AssetLimit, type Plan } from '@tollgate/wallet'
import { type Command } from 'commander'
import { networkOf, toAssetAmount } from '../amounts'
import { amountOf } from '../assets/asset-amounts'
import { assertKnownAsset, parseAssets } from '../assets/known-assets'
import { type KnownAsset } from '../assets/stablecoins'
import { CommandError, EXIT, UsageError } from '../exit-codes'
import { approveSameAsset, candidates, parsePlan, unitsOf, type DecidePayment } from '../open-client'
import { printable } from '../output/printable'
import { facts, time } from '../output/table'
import { confirm } from '../prompts'
import { explainLimits } from '../refused-terms'
import { type Context, type Run } from '../run-command'
import { findOpenPayments } from '../stored-payments'
import { describe } from './help'

type Options = { yes?: boolean }

export const buyCommand = (run: Run): Command =>
  describe(
    'buy',
    'Buy the credits of a plan. Shows the price and asks; never pays more than what is confirmed',
    'tollgate buy --plan 1 --keystore wallet.json',
    'tollgate buy --plan 1 --yes --max-payment "0.05 USDC" --json',
  )
    .option('-y, --yes', 'pay without a question; for programs, best with --max-payment')
    .action(
      run<Options>(async (context) => {
        const { open, output } = context
        const confirmed: { terms?: Terms } = {}
        const { tollgate, wallet, limits } = await open(
          async (facts) => (confirmed.terms = await decide(facts, context)),
        )
        if (!confirmed.terms) throw new Error('No plan was confirmed')
        const { plan, asset } = confirmed.terms
        const done = output.progress(
          `Paying ${amountOf(plan.amount, asset)}, which settles on ${asset.network}`,
        )
        const bought = await tollgate
          .buy()
          .catch((error: unknown) => {
            throw explainLimits(error, { plan, limits, known: [asset] })
          })
          .finally(done)
        const { planId, amount, credits, transaction } = bought
        output.result(
          {
            ...{ plan_id: planId, credits, amount, price: priceIn(plan, asset), transaction },
            ...{ network: networkOf(plan), asset: plan.asset_address, wallet: wallet.address },
          },
          (colors) =>
            facts(colors, [
              ['Bought', `${credits} credits of plan ${planId}`],
              ['Paid', amountOf(amount, asset)],
              ['Transaction', transaction],
            ]),
        )
      }),
    )

/** Its symbol is the gateway's word, if the user has named the asset without one. */
const priceIn = ({ amount, display_denom }: Plan, { decimals, symbol = display_denom }: KnownAsset) =>
  toAssetAmount(amount, decimals, symbol)

type Terms = Awaited<ReturnType<DecidePayment>> & { plan: Plan; asset: KnownAsset }

/** The limit of the payment is exactly the price that was confirmed. */
async function decide(
  { wallet, plans, storage, url }: Parameters<DecidePayment>[0],
  context: Context<Options>,
): Promise<Terms> {
  const { options, output, terminal } = context
  const known = parseAssets(options.asset ?? [])
  const plan = choosePlan(await plans(), { id: parsePlan(options.plan), ecosystem: wallet.ecosystem })
  const asset = assertKnownAsset(plan, known)
  const approve = await approveSameAsset(asset, { wallet, storage, url, options })
  const shownPrice = amountOf(plan.amount, asset)
  const { maxPayment, maxDay } = options
  const price = BigInt(plan.amount)
  const most = maxPayment === undefined ? price : unitsOf('--max-payment', maxPayment, asset)
  if (most < price)
    throw new CommandError(
      'LIMIT_REACHED',
      `Plan ${plan.id} costs ${shownPrice}, more than --max-payment ${amountOf(most, asset)}`,
      'Raise --max-payment, or choose another plan (see `tollgate plans`).',
      EXIT.PAYMENT_NEEDED,
    )
  for (const { signedAt } of await findOpenPayments(storage, wallet.address))
    output.note(
      `A payment of this wallet, signed ${time(new Date(signedAt).toISOString())} UTC, is open. For the same plan it is sent again, instead of another one.`,
    )
  if (!options.yes) {
    output.note(offerOf(plan, asset, wallet.address))
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
  return { plan, asset, planId: plan.id, limits: { assets: [limit], recipients: [plan.pay_to], approve } }
}

/** The amount is first: a name is the gateway's, and could look like another price. */
export const offerOf = (plan: Plan, asset: KnownAsset, payer: string): string =>
  [
    `${amountOf(plan.amount, asset)} on ${asset.network}, which are ${plan.amount} smallest units of ${asset.asset},`,
    `from ${payer}`,
    `to   ${plan.pay_to}`,
    `for  ${plan.credits} credits of plan ${plan.id}, ${quoted(plan.plan_name)}`,
  ].join('\n')

const LONGEST_NAME = 60

const quoted = (name: string) => JSON.stringify(printable(name).slice(0, LONGEST_NAME))

/** @throws UsageError if the user has to say which */
function choosePlan(plans: readonly Plan[], choice: { id: number | undefined; ecosystem: string }): Plan {
  const [plan, ...others] = candidates(plans, choice)
  if (!plan) throw new UsageError(`No plan is paid by ${choice.ecosystem} wallets; see \`tollgate plans\``)
  if (plan.ecosystem !== choice.ecosystem)
    throw new UsageError(
      `Plan ${plan.id} is paid by ${plan.ecosystem} wallets, and this is one of ${choice.ecosystem}`,
    )
  if (others.length === 0) return plan
  const list = [plan, ...others].map((one) => `${one.id} (${quoted(one.plan_name)})`).join(', ')
  throw new UsageError(`Say which plan to buy with --plan: ${list}`)
}
