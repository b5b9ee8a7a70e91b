/** Wakes the one who sleeps by it; rung while nobody sleeps, it lets the next sleeper through at once. */
export function createBell() {
  let isRung = false
  let wake: (() => void) | undefined

  return {
    ring() {
      isRung = true
      wake?.()
    },
    /** Resolves to true when rung, to false after `ms` or when `signal` is aborted. */
    async sleep(ms: number, signal: AbortSignal): Promise<boolean> {
      if (!isRung && !signal.aborted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(done, ms)
          signal.addEventListener('abort', done)
          wake = done
          function done() {
            clearTimeout(timer)
            signal.removeEventListener('abort', done)
            wake = undefined
            resolve()
          }
        })
      const wasRung = isRung
      isRung = false
      return wasRung
    },
  }
}
