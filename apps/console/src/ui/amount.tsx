import { type ReactNode } from 'react'
import { exactUnits, readableUnits } from './format'
import { isolated } from './isolated'
import { useCode } from './use-code'

/** A token amount in its smallest unit, rounded for the reader; the exact amount on hover, on focus, and to a screen reader. */
export function Amount({ amount, decimals, symbol }: { amount: string; decimals: number; symbol: string }) {
  const exact = `${exactUnits(BigInt(amount), decimals)}${unit(symbol)}`
  const readable = `${readableUnits(BigInt(amount), decimals)}${unit(symbol)}`
  const shown = (
    <data className="amount" value={amount}>
      {readable}
    </data>
  )
  if (exact === readable) return <span title={exact}>{shown}</span>
  return <ExactAmount exact={exact}>{shown}</ExactAmount>
}

/** On the same line as its amount. */
const unit = (symbol: string) => (symbol === '' ? '' : `\u00A0${isolated(symbol)}`)

function ExactAmount({ exact, children }: { exact: string; children: ReactNode }) {
  const { data: code } = useCode('tooltip', () => import('./tooltip'))
  const amount = (
    <span tabIndex={0} role="note" aria-label={exact}>
      {children}
    </span>
  )
  return code ? <code.Tooltip text={exact}>{amount}</code.Tooltip> : amount
}
