import { LRUCache } from 'lru-cache'

const MAX_AGE_MS = 30_000
const MAX_LISTS = 256

/**
 * Totals of long lists, which take long to count: at most {@link MAX_AGE_MS} old. At most one count of each list runs at a time.
 * `clock`: milliseconds that only grow.
 */
export function createTotals<F extends readonly unknown[]>(
  count: (filters: F, now: Date) => Promise<number>,
  clock: { now: () => number } = performance,
) {
  const totals = new LRUCache<string, number, { filters: F; now: Date }>({
    max: MAX_LISTS,
    ttl: MAX_AGE_MS,
    ttlResolution: 0,
    perf: clock,
    fetchMethod: (_key, _stale, { context: { filters, now } }) => count(filters, now),
  })

  return async (filters: F, now: Date): Promise<number> =>
    (await totals.fetch(JSON.stringify(filters), { context: { filters, now } })) ?? 0
}
