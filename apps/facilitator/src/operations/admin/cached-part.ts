import { withTimeout } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'

/** A part of a view: other parts are shown if it cannot be read. */
export type Part<T> = { value: T; error: null } | { value: undefined; error: string }

/**
 * All callers within `ttlMs` share one read, so that a page that refreshes costs the nodes and the database little. At most one
 * read runs at a time; callers wait for it up to `timeoutMs`, and a result that comes later serves those after them. Never
 * rejects: the cause of a failure is logged and not shown.
 */
export function createCachedPart<T>(options: {
  name: string
  read: () => Promise<T>
  ttlMs: number
  timeoutMs: number
  logger: Logger
}): () => Promise<Part<T>> {
  const { name, read, ttlMs, timeoutMs, logger } = options
  let latest: { part: Part<T>; until: number } | undefined
  let running: Promise<Part<T>> | undefined

  async function tryToRead(): Promise<Part<T>> {
    try {
      return { value: await read(), error: null }
    } catch (error) {
      logger.warn('operator view read failed', { view: name, error })
      return { value: undefined, error: `${name} could not be read; the log of this replica says why` }
    }
  }

  async function run(): Promise<Part<T>> {
    const startedAt = performance.now()
    const part = await tryToRead()
    const endedAt = performance.now()
    if (endedAt - startedAt > timeoutMs)
      logger.warn('operator view read slow', { view: name, ms: Math.round(endedAt - startedAt) })
    latest = { part, until: endedAt + ttlMs }
    running = undefined
    return part
  }

  return async () => {
    if (latest && performance.now() < latest.until) return latest.part
    running ??= run()
    return withTimeout(running, timeoutMs, () => ({
      value: undefined,
      error: `${name} could not be read within ${timeoutMs} ms`,
    }))
  }
}
