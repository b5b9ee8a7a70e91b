/** For whom a share of a budget is counted, such as an address or a wallet. */
export type Holder = { key: string; share: number }

/** A part of a budget. To release it twice has no further effect. */
export type Reservation = {
  release: () => void
  /** From now on it is not evicted. */
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
 * A bound on something scarce, in all and for each holder. Where it is reached, reservations that can be evicted give way,
 * oldest first, once they are older than `patienceMs`: what makes no progress excludes nothing that does.
 */
export function createBudget({ total, patienceMs }: { total: number; patienceMs: number }) {
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

  /** Evicts the oldest reservation, or the oldest of one holder; false where none is old enough. */
  function evictOldest(now: number, holder: Holder | undefined): boolean {
    for (const entry of entries) {
      const { evict, holders, since } = entry
      if (now - since < patienceMs) return false
      if (!evict || (holder && !holders.some(({ key }) => key === holder.key))) continue
      entry.release()
      evict()
      return true
    }
    return false
  }

  return {
    /** Undefined where there is no room. `evict` is called once if the reservation gives way, after its release. */
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
