import { formatAmount } from '../amounts'
import { findAsset } from './known-assets'
import { type KnownAsset } from './stablecoins'

/**
 * `0.05 USDC`; of an asset that only the user has named, `0.05 of uatom (6 decimals)`.
 *
 * @param scale the decimals that a smallest unit is divided into
 */
export const amountOf = (
  units: bigint | string,
  { symbol, asset, decimals }: KnownAsset,
  scale = 0,
): string =>
  symbol === undefined
    ? `${formatAmount(units, decimals + scale)} of ${shortened(asset)} (${decimals} decimals)`
    : `${formatAmount(units, decimals + scale)} ${symbol}`

const LONGEST = 24

const shortened = (asset: string) =>
  asset.length > LONGEST ? `${asset.slice(0, 10)}…${asset.slice(-4)}` : asset

/** The same, in smallest units if the decimals are not known. */
export function describeAmount(
  units: bigint | string,
  asset: { network: string; asset: string },
  known: readonly KnownAsset[],
  scale = 0,
): string {
  const own = findAsset(known, asset)
  return own
    ? amountOf(units, own, scale)
    : `${formatAmount(units, scale)} smallest units of ${asset.asset} on ${asset.network}`
}
