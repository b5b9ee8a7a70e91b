export const TICK_MS = 5_000

/** The last tick, or the time itself if it is since then: it was now, not later. */
export function tickOf(at: Date, now: number): Date {
  const tick = now - (now % TICK_MS)
  return new Date(at.getTime() <= now ? Math.max(at.getTime(), tick) : tick)
}
