import { type Limits } from '@tollgate/wallet'
import { describeAmount } from '../assets/asset-amounts'
import { type KnownAsset } from '../assets/stablecoins'

type Asset = { network: string; asset: string }

/** Amounts of known assets as `0.01 USDC`; of others in smallest units. */
export const createAmountFormat =
  (known: readonly KnownAsset[]) =>
  (amount: bigint | string, asset: Asset): string =>
    describeAmount(amount, asset, known)
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
