import { type Coin as ProtoCoin } from 'cosmjs-types/cosmos/base/v1beta1/coin'
import { sdkError } from './errors'

export type Coin = {
  denom: string
  amount: bigint
}
export type Coins = readonly Coin[]

const DENOM = /^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/
const MOST_BITS = 256

export const isDenom = (text: string) => DENOM.test(text)

/**
 * Parses amounts like Go's `big.Int`: with an optional sign, base prefix and underscores, so
 * `010` is eight. An invalid amount fails the whole transaction (2).
 */
export function readCoins(coins: readonly ProtoCoin[]): Coin[] {
  return coins.map(({ denom, amount }) => ({ denom, amount: readAmount(amount) }))
}

function readAmount(text: string): bigint {
  // A missing amount is a nil integer, which every check refuses.
  if (text === '') return -1n
  const amount = readGoInteger(text)
  if (amount === undefined)
    throw sdkError('tx parse error', `math/big: cannot unmarshal ${JSON.stringify(text)} into a *big.Int`)
  const bits = (amount < 0n ? -amount : amount).toString(2).length
  if (bits > MOST_BITS)
    throw sdkError('tx parse error', `integer out of range; got: ${bits}, max: ${MOST_BITS}`)
  return amount
}

const BASES = { '0x': 16, '0o': 8, '0b': 2, '0': 8, '': 10 } as const
const DIGITS = { 16: /^[0-9a-f]+$/, 8: /^[0-7]+$/, 2: /^[01]+$/, 10: /^[0-9]+$/ } as const
const LITERALS = { 16: '0x', 8: '0o', 2: '0b', 10: '' } as const

/** `big.Int.SetString(text, 0)`. */
function readGoInteger(text: string): bigint | undefined {
  const [, sign = '', prefix = '', rest = ''] =
    /^([+-]?)(0[xob]|0(?=[0-9_])|)(.+)$/.exec(text.toLowerCase()) ?? []
  const base = BASES[prefix as keyof typeof BASES]
  if (rest.endsWith('_') || rest.includes('__') || (prefix === '' && rest.startsWith('_'))) return undefined
  const digits = rest.replaceAll('_', '')
  if (!DIGITS[base].test(digits)) return undefined
  const value = BigInt(LITERALS[base] + digits)
  return sign === '-' ? -value : value
}

/** Sorted, each denom once, every amount positive. An empty list is valid. */
export function areValid(coins: Coins): boolean {
  return coins.every(
    ({ denom, amount }, i) =>
      isDenom(denom) && amount > 0n && (i === 0 || (coins[i - 1]?.denom ?? '') < denom),
  )
}

export const amountOf = (coins: Coins, denom: string) => coins.find((c) => c.denom === denom)?.amount ?? 0n

/** The remainder of `coins`; undefined if one of them does not suffice. */
export function subtract(coins: Coins, taken: Coins): Coin[] | undefined {
  if (taken.some(({ denom, amount }) => amountOf(coins, denom) < amount)) return undefined
  return coins
    .map(({ denom, amount }) => ({ denom, amount: amount - amountOf(taken, denom) }))
    .filter(({ amount }) => amount > 0n)
}

/** The sum, sorted by denom. */
export function add(...parts: Coins[]): Coin[] {
  const sums = new Map<string, bigint>()
  for (const { denom, amount } of parts.flat()) sums.set(denom, (sums.get(denom) ?? 0n) + amount)
  return [...sums]
    .map(([denom, amount]) => ({ denom, amount }))
    .filter(({ amount }) => amount > 0n)
    .sort((a, b) => (a.denom < b.denom ? -1 : 1))
}

/** The SDK's format in events and logs. */
export const coinsText = (coins: Coins) => coins.map(({ denom, amount }) => `${amount}${denom}`).join(',')

/** `1uatom,20ibc/AB`, sorted or not. */
export function parseCoins(text: string): Coin[] {
  const coins = text === '' ? [] : text.split(',').map(parseCoin)
  return add(coins)
}

function parseCoin(text: string): Coin {
  const [, amount = '', denom = ''] = /^([0-9]{1,78})(.+)$/.exec(text.trim()) ?? []
  if (!isDenom(denom)) throw new Error(`Not a coin: ${JSON.stringify(text)}`)
  return { denom, amount: BigInt(amount) }
}

export const toProto = (coins: Coins): ProtoCoin[] =>
  coins.map(({ denom, amount }) => ({ denom, amount: amount.toString() }))
