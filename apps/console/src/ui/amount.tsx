import { Tooltip } from '@mantine/core'
import { formatUnits, readableUnits } from './format'

/** A token amount in its smallest unit, rounded for the reader; the exact amount on hover, on focus, and to a screen reader. */
export function Amount({ amount, decimals, symbol }: { amount: string; decimals: number; symbol: string }) {
  const exact = `${formatUnits(BigInt(amount), decimals)} ${symbol}`.trim()
  const readable = `${readableUnits(BigInt(amount), decimals)} ${symbol}`.trim()
  const shown = (
    <data className="amount" value={amount}>
      {readable}
    </data>
  )
  if (exact === readable) return <span title={exact}>{shown}</span>
  return (
    <Tooltip label={exact} events={{ hover: true, focus: true, touch: true }}>
      <span tabIndex={0} role="note" aria-label={exact}>
        {shown}
      </span>
    </Tooltip>
  )
}
