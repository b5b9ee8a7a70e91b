import { type AssetAmount, type Plan } from '@tollgate/wallet'

const AMOUNT = /^([0-9]{1,60})(?:\.([0-9]{1,60}))?$/

/** `0.05` of an asset with 6 decimals as 50000; undefined for other texts, and for more digits than the asset has. */
export function parseAmount(text: string, decimals: number): bigint | undefined {
  const [, whole, fraction = ''] = AMOUNT.exec(text) ?? []
  const digits = fraction.replace(/0+$/, '')
  if (whole === undefined || digits.length > decimals) return undefined
  return BigInt(whole + digits.padEnd(decimals, '0'))
}

/** 50000 of an asset with 6 decimals as `0.05`. */
export function formatAmount(units: bigint | string, decimals: number): string {
  const digits = BigInt(units)
    .toString()
    .padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** An amount in JSON, as a program and a person read it. */
export const toAssetAmount = (units: bigint | string, decimals: number, symbol: string): AssetAmount => ({
  value: formatAmount(units, decimals),
  decimals,
  symbol,
})

export const priceOf = ({ amount, decimals, display_denom }: Plan) =>
  `${formatAmount(amount, decimals)} ${display_denom}`

const namespaces: Record<string, string> = { evm: 'eip155', cosmos: 'cosmos' }

/** As CAIP-2. */
export const networkOf = ({ ecosystem, chain_id }: Pick<Plan, 'ecosystem' | 'chain_id'>) =>
  `${namespaces[ecosystem] ?? ecosystem}:${chain_id}`
