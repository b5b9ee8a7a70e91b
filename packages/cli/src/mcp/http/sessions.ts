export type Bounds = { maxSessions: number; idleMs: number; maxAgeMs: number }

export const DEFAULT_BOUNDS: Bounds = { maxSessions: 100, idleMs: 30 * 60_000, maxAgeMs: 24 * 3_600_000 }

type Entry<T> = { value: T; openedAt: number; usedAt: number; inFlight: number }

/** Sessions by their ids, bounded in number and age. Those with a request in flight stay. */
export function createSessionTable<T>(parts: {
  bounds: Bounds
  now: () => number
  close: (value: T) => void
}) {
  const { bounds, now, close } = parts
  const entries = new Map<string, Entry<T>>()
  const idle = () => [...entries].filter(([, { inFlight }]) => inFlight === 0)

  function remove(id: string): void {
    const entry = entries.get(id)
    entries.delete(id)
    if (entry) close(entry.value)
  }

  function sweep(): void {
    for (const [id, { openedAt, usedAt }] of idle())
      if (now() - usedAt >= bounds.idleMs || now() - openedAt >= bounds.maxAgeMs) remove(id)
  }

  return {
    sweep,
    remove,
    size: () => entries.size,
    values: () => [...entries.values()].map(({ value }) => value),

    /**
     * Makes room for one more by closing the one that was used least recently. False if all are in use.
     *
     * @param opening the number of those that are about to be added
     */
    makeRoom(opening: number): boolean {
      sweep()
      if (entries.size + opening < bounds.maxSessions) return true
      const [oldest] = idle().sort(([, one], [, other]) => one.usedAt - other.usedAt)
      if (oldest) remove(oldest[0])
      return oldest !== undefined
    },
    add(id: string, value: T): void {
      entries.set(id, { value, openedAt: now(), usedAt: now(), inFlight: 0 })
    },
    find(id: string): T | undefined {
      sweep()
      return entries.get(id)?.value
    },
    /** Keeps a session from being closed until the returned function is called. */
    use(id: string): () => void {
      const entry = entries.get(id)
      if (!entry) return () => undefined
      entry.usedAt = now()
      entry.inFlight += 1
      return () => {
        entry.inFlight -= 1
        entry.usedAt = now()
      }
    },
  }
}
