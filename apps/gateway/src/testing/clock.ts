export type Clock = ReturnType<typeof createClock>

export function createClock() {
  let aheadMs = 0
  let stoppedAt: number | undefined
  return {
    now: () => new Date((stoppedAt ?? Date.now()) + aheadMs),
    advance(seconds: number) {
      aheadMs += seconds * 1000
    },
    stop() {
      stoppedAt = Math.floor(Date.now() / 1000) * 1000
    },
  }
}
