const SHORTEST_MS = 0.5
const LONGEST_MS = 60_000
/** From each bound to the next it is a tenth at most, rounding included. */
const STEPS = 124

/**
 * The upper bounds of the latency buckets, in milliseconds. What was counted is stored by the place of its bucket in this
 * list: it may grow at its end, and must not change otherwise.
 */
export const boundsMs: readonly number[] = Array.from({ length: STEPS + 1 }, (_, step) =>
  Number((SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** (step / STEPS)).toPrecision(4)),
)

/** The bucket of a latency: the first whose bound it does not pass. What takes longer than the last counts as that. */
export function bucketOf(latencyMs: number): number {
  let [low, high] = [0, STEPS]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (latencyMs <= (boundsMs[middle] ?? LONGEST_MS)) high = middle
    else low = middle + 1
  }
  return low
}

/** What may be said of all that was counted in a bucket: it took no longer than this. 0 where there is no bucket. */
export const longestMs = (bucket: number | null): number =>
  bucket === null ? 0 : (boundsMs[bucket] ?? LONGEST_MS)
