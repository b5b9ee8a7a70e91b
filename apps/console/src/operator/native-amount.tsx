import { Amount } from '../ui/amount'

type Props = { amount: string | null; symbol: string | null; decimals: number | null }

/** Of the currency in which a network takes its fees; `none` in words, where there is no amount. */
export function NativeAmount({ amount, symbol, decimals, none = '?' }: Props & { none?: string }) {
  if (amount === null) return <span>{none}</span>
  return <Amount amount={amount} decimals={decimals ?? 0} symbol={symbol ?? ''} />
}
