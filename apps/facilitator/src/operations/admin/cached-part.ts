import { withTimeout } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'

/** A part of a view: other parts are shown if it cannot be read. */
export type Part<T> = { value: T; error: null } | { value: undefined; error: string }

/**
 * All callers within `ttlMs` share one read, so that a page that refreshes costs the nodes and the database little. At most one
 * read runs at a time. Never rejects; the cause of a failure is logged and not shown.
 */
export function createCachedPart<T>(options: {
  name: string
  read: () => Promise<T>
  ttlMs: number
  timeoutMs: number
  logger: Logger
}): () => Promise<Part<T>> {
  const { name, read, ttlMs, timeoutMs, logger } = options
  let running: Promise<Part<T>> | undefined
  let latest: Promise<Part<T>> | undefined

  async function run(): Promise<Part<T>> {
    try {
      return { value: await read(), error: null }
    } catch (error) {
      logger.warn('operator view read failed', { view: name, error })
      return { value: undefined, error: `${name} could not be read; the log of this replica says why` }
    } finally {
      running = undefined
    }
  }

  async function readInTime(): Promise<Part<T>> {
    running ??= run()
    const part = await withTimeout(running, timeoutMs, () => {
      logger.warn('operator view read timed out', { view: name, timeoutMs })
      return { value: undefined, error: `${name} could not be read within ${timeoutMs} ms` }
    })
    setTimeout(() => (latest = undefined), ttlMs).unref()
    return part
  }

  return () => (latest ??= readInTime())
}
