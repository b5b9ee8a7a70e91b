export function startInterval(options: {
  everyMs: number
  work: () => Promise<void>
  onError: (error: unknown) => void
}) {
  const { everyMs, work, onError } = options
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let current = runOnce()

  async function runOnce() {
    try {
      await work()
    } catch (error) {
      onError(error)
    }
    if (isStopped) return
    timer = setTimeout(() => {
      current = runOnce()
    }, everyMs)
  }

  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await current
    },
  }
}
