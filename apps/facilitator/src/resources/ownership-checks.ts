import { startInterval, type Logger } from '@tollgate/service'
import { checkOwnership } from './discovery-document'
import { type OriginStore } from './origins'

const POLL_INTERVAL_MS = 2_000
const CHECKS_AT_ONCE = 4

export function createOwnershipChecks(parts: {
  origins: OriginStore
  isProduction: boolean
  logger: Logger
  now: () => Date
}) {
  const { origins, isProduction, logger, now } = parts
  const closing = new AbortController()
  const isClosing = () => closing.signal.aborted
  let repeated: ReturnType<typeof startInterval> | undefined

  async function checkDue(): Promise<void> {
    while (!isClosing()) {
      const due = await origins.claim(now())
      if (!due) return
      const result = await checkOwnership(due.origin, due.owner, { isProduction, signal: closing.signal })
      // A check interrupted by shutdown has no result; another replica repeats it.
      if (isClosing()) return
      await origins.record(due, result, now())
    }
  }

  async function round(): Promise<void> {
    await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, checkDue))
    await origins.forget(now())
  }

  return {
    round,
    begin() {
      repeated = startInterval({
        everyMs: POLL_INTERVAL_MS,
        work: round,
        onError: (error) => logger.warn('ownership check failed', { error }),
      })
    },
    async close() {
      closing.abort()
      await repeated?.stop()
    },
  }
}
