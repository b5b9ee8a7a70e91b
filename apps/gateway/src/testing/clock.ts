export type Clock = ReturnType<typeof createClock>

/** The machine's time, and as far ahead of it as a test needs. */
export function createClock() {
  let aheadMs = 0
  return {
    now: () => new Date(Date.now() + aheadMs),
    advance(seconds: number) {
      aheadMs += seconds * 1000
    },
  }
}
