import { z } from 'zod'

/**
 * Smallest units of the asset, on the wire: canonical decimal digits, at most 78 (uint256). Never a JSON
 * number.
 */
export const Amount = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,77})$/, 'must be decimal digits in a string, in the smallest unit of the asset')
  .meta({
    id: 'Amount',
    description: 'An amount of money in the asset’s smallest unit: decimal digits in a string.',
    examples: ['10000'],
  })
export type Amount = z.infer<typeof Amount>

/** `formatAmount(10000n, 6)` is `0.01`. */
export function formatAmount(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** `tokenAmount(10000n, { decimals: 6, symbol: 'USDC' })` is `0.01 USDC`. */
export const tokenAmount = (
  amount: bigint,
  { decimals, symbol }: { decimals: number; symbol: string },
): string => `${formatAmount(amount, decimals)} ${symbol}`
