/** Wakes the waiting loop; a wake without a waiter makes the next wait return at once. */
export function createWakeSignal() {
  let isAwake = false
  let wake: (() => void) | undefined

  return {
    wake() {
      isAwake = true
      wake?.()
    },
    /** Resolves to true after a wake, to false after `ms` or when `signal` is aborted. */
    async wait(ms: number, signal: AbortSignal): Promise<boolean> {
      if (!isAwake && !signal.aborted)
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
      const wasAwake = isAwake
      isAwake = false
      return wasAwake
    },
  }
}
