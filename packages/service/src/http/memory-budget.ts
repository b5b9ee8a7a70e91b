export type Holder = { key: string; share: number }

export type Reservation = {
  /** Idempotent. */
  release: () => void
  keep: () => void
}

type Entry = Reservation & {
  amount: number
  holders: readonly Holder[]
  since: number
  evict: (() => void) | undefined
}

export type Budget = ReturnType<typeof createBudget>

/**
 * Limits a resource in total and for each holder. At a limit, evictable reservations older than `evictAfterMs` are evicted,
 * oldest first, so that stalled requests do not block the others.
 */
export function createBudget({ total, evictAfterMs }: { total: number; evictAfterMs: number }) {
  const entries = new Set<Entry>()
  const held = new Map<string, number>()
  let used = 0

  function count({ amount, holders }: Entry, sign: 1 | -1) {
    used += sign * amount
    for (const { key } of holders) {
      const sum = (held.get(key) ?? 0) + sign * amount
      if (sum > 0) held.set(key, sum)
      else held.delete(key)
    }
  }

  /** Evicts the oldest reservation, of one holder if given; false if none is old enough. */
  function evictOldest(now: number, holder: Holder | undefined): boolean {
    for (const entry of entries) {
      const { evict, holders, since } = entry
      if (now - since < evictAfterMs) return false
      if (!evict || (holder && !holders.some(({ key }) => key === holder.key))) continue
      entry.release()
      evict()
      return true
    }
    return false
  }

  return {
    /** Undefined if a limit is reached. `evict` is called once, after the release, if the reservation is evicted. */
    reserve(amount: number, holders: readonly Holder[], evict?: () => void): Reservation | undefined {
      const now = performance.now()
      for (;;) {
        const full = holders.find(({ key, share }) => (held.get(key) ?? 0) + amount > share)
        if (!full && used + amount <= total) break
        if (!evictOldest(now, full)) return undefined
      }
      const entry: Entry = {
        amount,
        holders,
        since: now,
        evict,
        keep: () => (entry.evict = undefined),
        release() {
          if (entries.delete(entry)) count(entry, -1)
        },
      }
      entries.add(entry)
      count(entry, 1)
      return entry
    },
  }
}
