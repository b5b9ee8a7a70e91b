import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'

/** The pause after a task, as a multiple of the task's duration. */
const PAUSE_FACTOR = 4
/** A shorter pause is added to the next one: timers have a resolution of a millisecond. */
const MIN_PAUSE_MS = 4

/**
 * Runs long synchronous tasks in order, each in its own turn of the event loop, with pauses between them: all tasks together
 * use at most a fifth of the event loop.
 */
export function createThrottledQueue() {
  let previous: Promise<unknown> = Promise.resolve()
  let owedMs = 0

  function timed<T>(task: () => T): T {
    const startedAt = performance.now()
    try {
      return task()
    } finally {
      owedMs += PAUSE_FACTOR * (performance.now() - startedAt)
    }
  }
  async function pause() {
    if (owedMs < MIN_PAUSE_MS) return
    const pauseMs = owedMs
    owedMs = 0
    await delay(pauseMs)
  }
  return <T>(task: () => T): Promise<T> => {
    const result = previous.then(() => nextTurn()).then(() => timed(task))
    previous = result.then(pause, pause)
    return result
  }
}
