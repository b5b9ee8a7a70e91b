/** The earliest time of a block whose transfers count, in Unix seconds. By the later of both clocks: the chain's may be ahead of ours, and a node that stands still is behind. */
export function earliestArrival(now: Date, head: { timestamp: number }, maxAgeSeconds: number): bigint {
  return BigInt(Math.max(Math.floor(now.getTime() / 1000), head.timestamp) - maxAgeSeconds)
}
