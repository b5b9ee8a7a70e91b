const SHORTEST_MS = 0.5
const LONGEST_MS = 60_000
/** Enough that each bound is at most a tenth above the one before, rounding included. */
const STEPS = 124

/**
 * The upper bounds of the latency buckets, in milliseconds. Counts are stored under
 * the index of their bucket: bounds may be appended, and must not change otherwise.
 */
export const boundsMs: readonly number[] = Array.from({ length: STEPS + 1 }, (_, step) =>
  Number((SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** (step / STEPS)).toPrecision(4)),
)

/** The bucket of a latency: the first whose bound it does not exceed, or the last. */
export function bucketOf(latencyMs: number): number {
  let [low, high] = [0, STEPS]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (latencyMs <= (boundsMs[middle] ?? LONGEST_MS)) high = middle
    else low = middle + 1
  }
  return low
}

/** The upper bound of a bucket, in milliseconds; 0 where there is none. */
export const longestMs = (bucket: number | null): number =>
  bucket === null ? 0 : (boundsMs[bucket] ?? LONGEST_MS)
