import { merchant } from '../texts'
import { exactUnits } from '../ui/format'
import { parseUnits } from '../ui/parse-units'

/** For a field: below it, the price as the page reads it. */
export function readPrice(price: string, asset: { symbol: string; decimals: number } | undefined) {
  const amount = asset && parseUnits(price, asset.decimals)
  return {
    inputWrapperOrder: ['label', 'input', 'error', 'description'] as const satisfies string[],
    description:
      asset && amount !== undefined && amount > 0n
        ? merchant.snippets.priceRead(`${exactUnits(amount, asset.decimals)} ${asset.symbol}`)
        : undefined,
  }
}
