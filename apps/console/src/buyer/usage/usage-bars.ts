import { type Bar, type Series } from '../../ui/bars'
import { type UsageTotal } from '../data'

/** In the order of the theme's palette; the last one is for all others. */
const COLORS = ['petrol.7', 'indigo.5', 'orange.6', 'grape.5', 'green.7', 'pink.6', 'gray.5']

export type Measure = 'calls' | 'credits'
export type Split = 'chain' | 'method'

/**
 * A bar for each period from `from` to `to`, also without calls, split by chain or method: the six largest, and the others as one.
 */
export function usageBars(
  totals: readonly UsageTotal[],
  wish: {
    measure: Measure
    split: Split
    periods: readonly string[]
    labels: { others: string; noMethod: string }
  },
): { bars: Bar[]; series: Series[] } {
  const { measure, split, periods, labels } = wish
  const nameOf = ({ chain_id, rpc_method }: UsageTotal) =>
    split === 'chain' ? chain_id : (rpc_method ?? labels.noMethod)
  const sums = new Map<string, number>()
  for (const total of totals) sums.set(nameOf(total), (sums.get(nameOf(total)) ?? 0) + total[measure])
  const largest = [...sums]
    .sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))
    .slice(0, COLORS.length - 1)
    .map(([name]) => name)
  const hasOthers = sums.size > largest.length
  const bars = new Map<string, Bar>(periods.map((period) => [period, { period }]))
  for (const total of totals) {
    const bar = bars.get(total.period.slice(0, DAY_LENGTH))
    const at = largest.indexOf(nameOf(total))
    // Names of methods have dots, which a chart takes for a path.
    const key = at < 0 ? 'others' : `s${at}`
    if (bar) bar[key] = Number(bar[key] ?? 0) + total[measure]
  }
  const series = largest.map((label, at) => ({ name: `s${at}`, label, color: COLORS[at] ?? '' }))
  const others = { name: 'others', label: labels.others, color: COLORS.at(-1) ?? '' }
  return { bars: [...bars.values()], series: hasOthers ? [...series, others] : series }
}

/** Of `2026-11-25`, with which a period of the gateway begins. */
const DAY_LENGTH = 10
export const DAY_MS = 86_400_000

/** The last `count` days in UTC, the oldest first. */
export const lastDays = (count: number, now: Date): string[] =>
  Array.from({ length: count }, (_, at) =>
    new Date(now.getTime() - (count - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  )
