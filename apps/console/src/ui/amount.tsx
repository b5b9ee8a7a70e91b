import { type ReactNode } from 'react'
import { exactUnits, readableUnits } from './format'
import { useCode } from './use-code'

/** A token amount in its smallest unit, rounded for the reader; the exact amount on hover, on focus, and to a screen reader. */
export function Amount({ amount, decimals, symbol }: { amount: string; decimals: number; symbol: string }) {
  const exact = `${exactUnits(BigInt(amount), decimals)} ${symbol}`.trim()
  const readable = `${readableUnits(BigInt(amount), decimals)} ${symbol}`.trim()
  const shown = (
    <data className="amount" value={amount}>
      {readable}
    </data>
  )
  if (exact === readable) return <span title={exact}>{shown}</span>
  return <ExactAmount exact={exact}>{shown}</ExactAmount>
}

function ExactAmount({ exact, children }: { exact: string; children: ReactNode }) {
  const { data: code } = useCode('tooltip', () => import('./tooltip'))
  const amount = (
    <span tabIndex={0} role="note" aria-label={exact}>
      {children}
    </span>
  )
  return code ? <code.Tooltip text={exact}>{amount}</code.Tooltip> : amount
}
