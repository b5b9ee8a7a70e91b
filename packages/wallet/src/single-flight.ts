import { assertNotStopped, untilStopped } from './stops.js'

export type SingleFlight<T> = (
  begin: (abandoned: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
) => Promise<{ result: T; isOwn: boolean }>

/**
 * Work that callers share while it runs: `begin` of the first one. A caller whose signal aborts leaves it to the others, and
 * where none is left, `abandoned` aborts.
 */
export function createSingleFlight<T>(closed: AbortSignal): SingleFlight<T> {
  type Running = { work: Promise<T>; callers: number; abandoned: AbortController }
  let running: Running | undefined

  function start(begin: (abandoned: AbortSignal) => Promise<T>): Running {
    const abandoned = new AbortController()
    return { work: begin(abandoned.signal), callers: 0, abandoned }
  }

  function leave(shared: Running): void {
    shared.callers -= 1
    if (shared.callers > 0) return
    if (running === shared) running = undefined
    shared.abandoned.abort()
  }

  return async (begin, signal) => {
    assertNotStopped({ closed, signal })
    const isOwn = running === undefined
    const shared = (running ??= start(begin))
    shared.callers += 1
    try {
      return { result: await untilStopped(() => shared.work, { closed, signal }), isOwn }
    } finally {
      leave(shared)
    }
  }
}
