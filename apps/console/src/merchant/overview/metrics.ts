import { type SettlementMetrics } from '@tollgate/protocol'
import { formatUnits } from '../../ui/format'

export type DayMetrics = SettlementMetrics & { day: string }

const DAY_MS = 86_400_000

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

/** A day in UTC, like `2026-01-31`. */
export const daysBefore = (now: Date, days: number): string => dayOf(now.getTime() - days * DAY_MS)

export type AssetTotal = {
  network: string
  asset: string
  symbol: string
  decimals: number
  settled: number
  amount: string
}

type Amounts = Pick<SettlementMetrics, 'amounts'>

/** By network and asset, exact; the most settlements first. */
export function totalsOf(days: readonly Amounts[]): AssetTotal[] {
  const totals = new Map<string, AssetTotal>()
  for (const one of days.flatMap(({ amounts }) => amounts)) {
    const key = `${one.network} ${one.asset}`
    const before = totals.get(key)
    totals.set(key, {
      ...one,
      settled: one.settled + (before?.settled ?? 0),
      amount: (BigInt(one.amount) + BigInt(before?.amount ?? 0)).toString(),
    })
  }
  return [...totals.values()].sort((one, other) => other.settled - one.settled)
}

export type ReasonCount = { reason: string; failed: number }

/** The most frequent first. */
export function failuresOf(days: readonly Pick<SettlementMetrics, 'failures'>[]): ReasonCount[] {
  const counts = new Map<string, number>()
  for (const { reason, failed } of days.flatMap(({ failures }) => failures))
    counts.set(reason, (counts.get(reason) ?? 0) + failed)
  return [...counts]
    .map(([reason, failed]) => ({ reason, failed }))
    .sort((one, other) => other.failed - one.failed)
}

export const countsOf = (days: readonly Pick<SettlementMetrics, 'settled' | 'failed' | 'reversed'>[]) => ({
  settled: days.reduce((sum, { settled }) => sum + settled, 0),
  failed: days.reduce((sum, { failed }) => sum + failed, 0),
  reversed: days.reduce((sum, { reversed }) => sum + reversed, 0),
})

const STEPS = 1_000

/** To a tenth of a percent, but never all if one is missing, and never none if there is one. */
export function shownShare(part: number, whole: number): number {
  if (part === 0 || part === whole) return part / whole
  return Math.min(Math.max(Math.round((part * STEPS) / whole), 1), STEPS - 1) / STEPS
}

export type IncomeBar = { period: string } & Record<string, number | string>

/**
 * A bar for each day, also those without income, with the amounts of one symbol by network. Numbers are for the height of the bars;
 * exact amounts are in the totals.
 */
export function incomeBars(
  days: readonly (Amounts & { day: string })[],
  { symbol, count, now }: { symbol: string; count: number; now: Date },
): { bars: IncomeBar[]; networks: string[] } {
  const byDay = new Map(days.map(({ day, amounts }) => [day, amounts]))
  const networks = new Set<string>()
  const bars = Array.from({ length: count }, (_, index) => {
    const day = daysBefore(now, count - 1 - index)
    const bar: IncomeBar = { period: day }
    for (const { network, decimals, amount } of byDay.get(day)?.filter((one) => one.symbol === symbol) ??
      []) {
      networks.add(network)
      bar[network] = Number(bar[network] ?? 0) + Number(formatUnits(BigInt(amount), decimals))
    }
    return bar
  })
  return { bars, networks: [...networks].sort() }
}
