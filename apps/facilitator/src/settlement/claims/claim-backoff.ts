const FIRST_MS = 1_000
const LAST_MS = 15_000

/** Deferred claims. In memory only: a new leader of the signer tries all of them at once. */
export function createClaimBackoff(now: () => Date) {
  const postponed = new Map<bigint, { until: number; forMs: number }>()

  return {
    postpone(id: bigint): void {
      const before = postponed.get(id)?.forMs
      const forMs = before === undefined ? FIRST_MS : Math.min(2 * before, LAST_MS)
      postponed.set(id, { until: now().getTime() + forMs, forMs })
    },

    /** Forgets a back-off only some time after it ends, so that the next one is longer. */
    waiting(): bigint[] {
      const time = now().getTime()
      for (const [id, { until }] of postponed) if (until <= time - 2 * LAST_MS) postponed.delete(id)
      return [...postponed].filter(([, { until }]) => until > time).map(([id]) => id)
    },

    forget: (id: bigint) => postponed.delete(id),
  }
}
