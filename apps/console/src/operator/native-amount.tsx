import { shared } from '../texts'
import { Amount } from '../ui/amount'
import { readableNumber } from '../ui/format'
import { evmCurrency } from '../ui/native-currency'

type Props = { network: string; amount: string | null; symbol: string | null; decimals: number | null }

const EVM_DECIMALS = 18
/** The convention of the Cosmos SDK makes `uatom` a millionth of ATOM. */
const MICRO = /^u[a-z]{3,}$/
const MICRO_DECIMALS = 6

/** Writes an amount in the currency in which a network takes its fees; `none` stands where there is no amount. */
export function NativeAmount({ network, amount, symbol, decimals, none = '?' }: Props & { none?: string }) {
  if (amount === null) return <span>{none}</span>
  if (symbol !== null && decimals === 0 && MICRO.test(symbol))
    return <Amount amount={amount} decimals={MICRO_DECIMALS} symbol={symbol.slice(1).toUpperCase()} />
  const unit = symbol ?? (decimals === EVM_DECIMALS ? evmCurrency(network) : undefined)
  if (unit === undefined || decimals === null)
    return <span>{shared.smallestUnits(readableNumber(BigInt(amount)))}</span>
  return <Amount amount={amount} decimals={decimals} symbol={unit} />
}
