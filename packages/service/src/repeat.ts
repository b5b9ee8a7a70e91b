/**
 * Does `work` again and again, `everyMs` after it last ended, so that it never overlaps itself. One that fails is told to
 * `onError` and done again all the same.
 */
export function repeat(options: {
  everyMs: number
  work: () => Promise<void>
  onError: (error: unknown) => void
}) {
  const { everyMs, work, onError } = options
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let running = round()

  async function round() {
    try {
      await work()
    } catch (error) {
      onError(error)
    }
    if (isStopped) return
    timer = setTimeout(() => {
      running = round()
    }, everyMs)
  }

  return {
    /** Resolves when the work under way, if any, has ended; it is not begun again. */
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
