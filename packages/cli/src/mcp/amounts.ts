import { type Limits, type Plan } from '@tollgate/wallet'
import { formatAmount, networkOf } from '../amounts'

type Asset = { network: string; asset: string }

/** Amounts of the assets that plans are sold for as `0.01 USDC`, of others in smallest units. */
export function createAmountFormat(plans: readonly Plan[]) {
  const known = new Map(
    plans.map((plan) => [keyOf({ network: networkOf(plan), asset: plan.asset_address }), plan]),
  )
  return (amount: bigint | string, asset: Asset): string => {
    const plan = known.get(keyOf(asset))
    if (!plan) return `${amount} smallest units of ${asset.asset} on ${asset.network}`
    return `${formatAmount(amount, plan.decimals)} ${plan.display_denom}`
  }
}
export type AmountFormat = ReturnType<typeof createAmountFormat>

const keyOf = ({ network, asset }: Asset) => `${network} ${asset.toLowerCase()}`

/** One sentence for each asset. */
export function describeLimits({ assets, recipients }: Limits, format: AmountFormat): string {
  const each = assets.map((limit) => {
    const parts = [
      `at most ${format(BigInt(limit.perPayment), limit)} for one payment`,
      ...(limit.perDay === undefined ? [] : [`${format(BigInt(limit.perDay), limit)} in a day (UTC)`]),
      ...(limit.perSession === undefined
        ? []
        : [`${format(BigInt(limit.perSession), limit)} until this server ends`]),
    ]
    return `Limits of ${limit.asset} on ${limit.network}: ${parts.join(', ')}.`
  })
  const whom = recipients ? [`Only these recipients are paid: ${recipients.join(', ')}.`] : []
  return [...each, ...whom, 'Other assets are not paid.'].join(' ')
}

/** Undefined if each asset has a limit for one payment and for a day. */
export function findMissingLimit(limits: Limits | undefined): string | undefined {
  if (!limits || limits.assets.length === 0) return 'no limits are set'
  const open = limits.assets.find(({ perDay }) => perDay === undefined)
  return open && `${open.asset} on ${open.network} has no limit for a day`
}
