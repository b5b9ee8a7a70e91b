import { startStopwatch, type Clocks } from '../clocks'

/** The calls of a replica are refunded if its last heartbeat is older, by the clock of Postgres. */
export const DEAD_AFTER_SECONDS = 20
/** Half of DEAD_AFTER_SECONDS; the other half is margin. */
const LEASE_MS = 10_000
/** A larger drift between two readings means that the clock of Postgres stepped or this process was suspended. */
const MAX_DRIFT_MS = 5_000

/** A sequence of heartbeats without a gap. */
export type Term = number

/**
 * The lease of this replica on the calls that it reserved. While the term of a reservation is held, no heartbeat since then was
 * late enough for another replica to refund the call. Otherwise the call's row in Postgres decides.
 */
export function createLease(clocks: Clocks) {
  const { monotonicMs } = clocks
  let term: Term = 0
  /** Acknowledged by Postgres. */
  let lastHeartbeat: { at: number; elapsedMs: () => number } | undefined
  /** The clock of Postgres, read between two times of our monotonic clock. */
  let lastReading: { database: number; from: number; to: number } | undefined
  let lastStepAt = -Infinity

  const isFresh = () => lastHeartbeat !== undefined && lastHeartbeat.elapsedMs() <= LEASE_MS

  function recordReading(database: Date, from: number): boolean {
    const last = lastReading
    const now = { database: database.getTime(), from, to: monotonicMs() }
    lastReading = now
    if (!last) return true
    const elapsed = now.database - last.database
    const isSteady =
      elapsed >= now.from - last.to - MAX_DRIFT_MS && elapsed <= now.to - last.from + MAX_DRIFT_MS
    if (!isSteady) lastStepAt = now.to
    return isSteady
  }

  return {
    /** Call before sending a heartbeat; call the result with its time once Postgres acknowledged it. */
    beginHeartbeat() {
      const beat = { at: monotonicMs(), elapsedMs: startStopwatch(clocks) }
      return (database: Date): void => {
        const isUnbroken = isFresh()
        if (!recordReading(database, beat.at) || !isUnbroken) term++
        if (lastHeartbeat === undefined || beat.at >= lastHeartbeat.at) lastHeartbeat = beat
      }
    },

    /** Read before sending a reservation to Postgres. */
    term: (): Term => term,

    /** If true, no other replica can have refunded a call of that term. */
    isHeld: (reservedIn: Term): boolean => reservedIn === term && isFresh(),

    /**
     * Call before reading ages by the clock of Postgres; call the result with its time. Returns false for DEAD_AFTER_SECONDS
     * after a clock step, when a live replica can look dead until its next heartbeat.
     */
    beginReading() {
      const from = monotonicMs()
      return (database: Date): boolean => {
        recordReading(database, from)
        return monotonicMs() - lastStepAt > DEAD_AFTER_SECONDS * 1000
      }
    },
  }
}
