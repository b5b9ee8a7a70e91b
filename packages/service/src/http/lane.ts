import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'

/** How long the lane rests after its work, as a multiple of the time that the work took. */
const REST = 4
/** Below this a rest is added to the next one: timers count in milliseconds. */
const SHORT_REST_MS = 4

/**
 * Runs long pieces of synchronous work one at a time and in order, each in a turn of the event loop of its own, and rests
 * in between: together they take at most a fifth of the event loop, whatever their number.
 */
export function createLane() {
  let free: Promise<unknown> = Promise.resolve()
  let owedMs = 0

  function timed<T>(work: () => T): T {
    const startedAt = performance.now()
    try {
      return work()
    } finally {
      owedMs += REST * (performance.now() - startedAt)
    }
  }
  async function rest() {
    if (owedMs < SHORT_REST_MS) return
    const restMs = owedMs
    owedMs = 0
    await delay(restMs)
  }
  return <T>(work: () => T): Promise<T> => {
    const result = free.then(() => nextTurn()).then(() => timed(work))
    free = result.then(rest, rest)
    return result
  }
}
