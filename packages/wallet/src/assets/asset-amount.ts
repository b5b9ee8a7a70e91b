import { knownAssets } from './known-assets.js'

/** An amount as a person reads it: `value` is a decimal number, such as `0.01` of USDC. */
export type AssetAmount = { value: string; decimals: number; symbol: string }

type Asset = { network: string; asset: string }

const findKnown = ({ network, asset }: Asset) =>
  knownAssets.find((one) => one.network === network && one.asset.toLowerCase() === asset.toLowerCase())

/** Undefined if the asset is not known: its decimals would be the word of the one who is paid. */
export function assetAmount(units: bigint, asset: Asset): AssetAmount | undefined {
  const known = findKnown(asset)
  return known && { value: decimal(units, known.decimals), decimals: known.decimals, symbol: known.symbol }
}

/** `0.01 USDC`, or `10000 smallest units of uatom on cosmos:cosmoshub-4`. */
export function describeAmount(units: bigint, asset: Asset): string {
  const amount = assetAmount(units, asset)
  return amount
    ? `${amount.value} ${amount.symbol}`
    : `${units} smallest units of ${asset.asset} on ${asset.network}`
}

const WRITTEN = /^([0-9]{1,60})(?:\.([0-9]{1,36}))? ([A-Za-z0-9]+)$/

/** `0.01 USDC` in smallest units; undefined if the asset is not known, has another symbol, or fewer decimals. */
export function parseAssetAmount(text: string, asset: Asset): bigint | undefined {
  const [, whole, fraction = '', symbol] = WRITTEN.exec(text) ?? []
  const known = findKnown(asset)
  if (whole === undefined || !known || known.symbol !== symbol) return undefined
  if (fraction.length > known.decimals) return undefined
  return BigInt(whole + fraction.padEnd(known.decimals, '0'))
}

function decimal(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return digits.slice(0, -decimals) + (fraction && `.${fraction}`)
}
