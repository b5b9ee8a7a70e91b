const SHORTEST_MS = 0.5
const LONGEST_MS = 60_000
/** Each bound is at most 10 % above the one before. */
const STEPS = 124

/** Upper bounds of the buckets. Counts are stored by index: append bounds, never change them. */
export const boundsMs: readonly number[] = Array.from({ length: STEPS + 1 }, (_, step) =>
  Number((SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** (step / STEPS)).toPrecision(4)),
)

export function bucketOf(latencyMs: number): number {
  let [low, high] = [0, STEPS]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (latencyMs <= (boundsMs[middle] ?? LONGEST_MS)) high = middle
    else low = middle + 1
  }
  return low
}

export const longestMs = (bucket: number | null): number =>
  bucket === null ? 0 : (boundsMs[bucket] ?? LONGEST_MS)
