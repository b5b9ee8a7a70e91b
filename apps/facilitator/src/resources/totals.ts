const REFRESH_AFTER_MS = 5_000
const MAX_AGE_MS = 30_000
const MAX_LISTS = 256

type Total = { total: number; countedAt: number }

export type Totals<F> = (filters: F, now: Date) => Promise<number>

/**
 * Totals of long lists, which take long to count: at most {@link MAX_AGE_MS} old. One that is asked for again after
 * {@link REFRESH_AFTER_MS} is counted in the background. At most one count of each list runs at a time.
 */
export function createTotals<F>(count: (filters: F, now: Date) => Promise<number>): Totals<F> {
  const totals = new Map<string, Total>()
  const counting = new Map<string, Promise<number>>()

  function recount(key: string, filters: F, now: Date): Promise<number> {
    const running = counting.get(key)
    if (running) return running
    const counted = count(filters, now)
      .then((total) => {
        store(key, { total, countedAt: now.getTime() })
        return total
      })
      .finally(() => counting.delete(key))
    counting.set(key, counted)
    return counted
  }

  /** The list that was counted longest ago makes room. */
  function store(key: string, total: Total) {
    totals.delete(key)
    totals.set(key, total)
    const [oldest] = totals.keys()
    if (totals.size > MAX_LISTS && oldest !== undefined) totals.delete(oldest)
  }

  return async (filters, now) => {
    const key = JSON.stringify(filters)
    const known = totals.get(key)
    const ageMs = known ? now.getTime() - known.countedAt : Infinity
    if (!known || ageMs > MAX_AGE_MS) return recount(key, filters, now)
    // If it fails, the next request counts again.
    if (ageMs > REFRESH_AFTER_MS) void recount(key, filters, now).catch(() => undefined)
    return known.total
  }
}
