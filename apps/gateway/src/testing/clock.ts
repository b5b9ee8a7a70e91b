export type Clock = ReturnType<typeof createClock>

/** The machine's time, and as far ahead of it as a test needs. */
export function createClock() {
  let aheadMs = 0
  let stoppedAt: number | undefined
  return {
    now: () => new Date((stoppedAt ?? Date.now()) + aheadMs),
    advance(seconds: number) {
      aheadMs += seconds * 1000
    },
    /** From now on only `advance` moves it: for what ends at a certain second, however slow the machine. */
    stop() {
      stoppedAt = Math.floor(Date.now() / 1000) * 1000
    },
  }
}
