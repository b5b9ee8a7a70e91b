export type Head = { number: bigint; timestamp: number }
export type BlockSchedule = ReturnType<typeof createBlockSchedule>

/** Transactions are tracked this often even if no block is new, because nodes drop transactions. */
const MIN_TRACK_INTERVAL_MS = 100
export const MAX_TRACK_INTERVAL_MS = 2_000
const FAST_POLL_MS = 20
const SLOW_POLL_MS = 250
/** A chain that mines at once has the block by then. */
const AT_ONCE_MS = 150
/** Without a known phase of the chain: longer than the block interval of most chains. */
const UNKNOWN_PHASE_MS = 4_000
/** Blocks come early by this much, because the network delays some more than others. */
const EARLY_MS = 150
/** A longer interval is that of a chain that mines on demand. */
const MAX_BLOCK_MS = 15_000
/** After so many intervals the phase may have drifted. */
const PHASE_INTERVALS = 10

/**
 * When to ask for the next block, in the time of `performance.now()`: often after a transaction was sent, and once the phase of
 * the chain's blocks is known, only around the time of the next one.
 */
export function createBlockSchedule() {
  let head: Head | undefined
  let intervalMs: number | undefined
  /** When a block was seen, by two polls in quick succession. */
  let phase: number | undefined
  let polledAt = -Infinity
  let sentAt = -Infinity
  let trackedAt = -Infinity
  let trackIntervalMs = MIN_TRACK_INTERVAL_MS

  function saw(next: Head, now: number): void {
    if (head && next.number > head.number) {
      const ms = ((next.timestamp - head.timestamp) * 1_000) / Number(next.number - head.number)
      intervalMs = ms > 0 && ms <= MAX_BLOCK_MS ? ms : undefined
      phase = now - polledAt <= 2 * FAST_POLL_MS ? now : phase
    }
    if (!head || next.number > head.number) head = next
    polledAt = now
  }

  return {
    sentTransaction(now: number): void {
      sentAt = now
      trackIntervalMs = MIN_TRACK_INTERVAL_MS
    },

    /** The open transactions were tracked; without a head if the node did not answer. */
    tracked(on: Head | undefined, now: number): void {
      if (on) saw(on, now)
      trackedAt = now
      trackIntervalMs = Math.min(1.5 * trackIntervalMs, MAX_TRACK_INTERVAL_MS)
    },

    /** Whether the poll shows a new block. */
    isNew(polled: Head, now: number): boolean {
      const before = head?.number
      saw(polled, now)
      return head?.number !== before
    },

    isTrackingDue: (now: number): boolean => now - trackedAt >= trackIntervalMs,

    nextPollMs(now: number): number {
      if (now - sentAt < AT_ONCE_MS) return FAST_POLL_MS
      if (intervalMs !== undefined && phase !== undefined && now - phase < PHASE_INTERVALS * intervalMs) {
        const untilMs = intervalMs - EARLY_MS - ((now - phase) % intervalMs)
        return untilMs > 0 ? Math.min(Math.max(untilMs, FAST_POLL_MS), SLOW_POLL_MS) : FAST_POLL_MS
      }
      return now - sentAt < UNKNOWN_PHASE_MS ? FAST_POLL_MS : SLOW_POLL_MS
    },
  }
}
