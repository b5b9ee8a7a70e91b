import { median } from './rounds'

export type LaneResult = {
  answers: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Calls `send` in each of `lanes` parallel loops until it returns false. A rejection ends the run. */
export async function runLanes(lanes: number, send: (lane: number) => Promise<boolean>): Promise<LaneResult> {
  const latencies: number[] = []
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (;;) {
        const sentAt = performance.now()
        if (!(await send(lane))) return
        latencies.push(performance.now() - sentAt)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  const sorted = latencies.toSorted((one, other) => one - other)
  return {
    answers: sorted.length,
    perSecond: sorted.length / seconds,
    p50Ms: median(sorted),
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
  }
}
