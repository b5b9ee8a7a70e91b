import { type Limits, type Plan } from '@tollgate/wallet'
import { formatAmount, networkOf } from '../amounts'
import { findAsset, isSameAsset } from '../assets/known-assets'
import { STABLECOINS, type KnownAsset } from '../assets/stablecoins'

type Asset = { network: string; asset: string }

/** Amounts of known assets, and of those that plans are sold for, as `0.01 USDC`; of others in smallest units. */
export function createAmountFormat(plans: readonly Plan[], known: readonly KnownAsset[] = STABLECOINS) {
  return (amount: bigint | string, asset: Asset): string => {
    const own = findAsset(known, asset)
    const plan = plans.find((one) =>
      isSameAsset({ network: networkOf(one), asset: one.asset_address }, asset),
    )
    const decimals = own?.decimals ?? plan?.decimals
    if (decimals === undefined) return `${amount} smallest units of ${asset.asset} on ${asset.network}`
    return `${formatAmount(amount, decimals)} ${own?.symbol ?? plan?.display_denom ?? asset.asset}`
  }
}
export type AmountFormat = ReturnType<typeof createAmountFormat>

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
