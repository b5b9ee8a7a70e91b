import { startStopwatch, type Clocks } from '../clocks'

/** The reaper refunds the calls of a replica whose last heartbeat is older than this, by the clock of Postgres. */
export const DEAD_AFTER_SECONDS = 20
/** How long a replica relies on its last acknowledged heartbeat: half the reaper's limit, so that the other half is margin. */
const HELD_FOR_MS = 10_000
/** The clock of Postgres stepped, or ours stood still, where the two drift apart by more than this between two readings. */
const MAX_DRIFT_MS = 5_000

/** Names a sequence of heartbeats without a gap. */
export type Term = number

/**
 * What a replica knows about its own lease on the calls it has reserved. A call is its own for certain while the term in
 * which the call was reserved is held: since before the reservation, no heartbeat was late enough for another replica to
 * refund anything. Everything else is decided by the call's row in Postgres.
 */
export function createLease(clocks: Clocks) {
  const { monotonicMs } = clocks
  let term: Term = 0
  /** The last acknowledged heartbeat. */
  let sent: { at: number; elapsedMs: () => number } | undefined
  /** The clock of Postgres, as of some moment between two of our monotonic one. */
  let reading: { database: number; from: number; to: number } | undefined
  let steppedAt = -Infinity

  const isFresh = () => sent !== undefined && sent.elapsedMs() <= HELD_FOR_MS

  /** Whether the clock of Postgres, asked at `from`, has gone on since the last reading as our monotonic one did. */
  function read(database: Date, from: number): boolean {
    const last = reading
    const now = { database: database.getTime(), from, to: monotonicMs() }
    reading = now
    if (!last) return true
    const elapsed = now.database - last.database
    const isSteady =
      elapsed >= now.from - last.to - MAX_DRIFT_MS && elapsed <= now.to - last.from + MAX_DRIFT_MS
    if (!isSteady) steppedAt = now.to
    return isSteady
  }

  return {
    /** To be called before a heartbeat is sent; call the result with the heartbeat's time once Postgres has acknowledged it. */
    beginHeartbeat() {
      const beat = { at: monotonicMs(), elapsedMs: startStopwatch(clocks) }
      return (database: Date): void => {
        const isUnbroken = isFresh()
        if (!read(database, beat.at) || !isUnbroken) term++
        if (sent === undefined || beat.at >= sent.at) sent = beat
      }
    },

    /** To be read before a reservation is sent to Postgres. */
    term: (): Term => term,

    /** Whether no other replica can have refunded what was reserved in `reservedIn`. */
    isHeld: (reservedIn: Term): boolean => reservedIn === term && isFresh(),

    /**
     * To be called before Postgres is asked for ages by its own clock; call the result with its time then. Returns whether
     * they can be relied on: not for as long as the reaper's limit after a step, when every living replica may look dead
     * until its next heartbeat.
     */
    beginReading() {
      const from = monotonicMs()
      return (database: Date): boolean => {
        read(database, from)
        return monotonicMs() - steppedAt > DEAD_AFTER_SECONDS * 1000
      }
    },
  }
}
