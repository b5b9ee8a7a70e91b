import { withTimeout } from '@tollgate/protocol'
import { type RequestHandler } from 'express'
import { ApiError } from '../errors'

export type Health = {
  health: RequestHandler
  ready: RequestHandler
  /** Both handlers respond 503 from now on. */
  stopping: () => void
}

/** Probe handlers: `health` reports on the process, `ready` also checks the dependencies, each within `timeoutMs`. */
export function createHealth(
  options: {
    facts?: () => object
    /** Dependencies, by name. The service is not ready if a check rejects, resolves to false or times out. */
    checks?: Readonly<Record<string, () => Promise<boolean>>>
    timeoutMs?: number
  } = {},
): Health {
  const { facts = () => ({}), checks = {}, timeoutMs = 2_000 } = options
  let isStopping = false

  const refuseWhileStopping = () => {
    if (isStopping)
      throw new ApiError('UNAVAILABLE', 'This replica is stopping; send the request again', {
        retryAfterSeconds: 1,
      })
  }
  const health: RequestHandler = (_req, res) => {
    refuseWhileStopping()
    res.json({ status: 'ok', ...facts() })
  }
  const ready: RequestHandler = async (_req, res) => {
    refuseWhileStopping()
    const names = Object.keys(checks)
    const results = await Promise.all(Object.values(checks).map((check) => passes(check, timeoutMs)))
    const failed = names.filter((_, index) => !results[index])
    if (failed.length > 0)
      throw new ApiError('UNAVAILABLE', `Not ready: no answer from ${failed.join(', ')}`, {
        retryAfterSeconds: 1,
      })
    res.json({ status: 'ok', ...facts() })
  }
  return {
    health,
    ready,
    stopping() {
      isStopping = true
    },
  }
}

async function passes(check: () => Promise<boolean>, timeoutMs: number) {
  try {
    return await withTimeout(check(), timeoutMs, () => false)
  } catch {
    return false
  }
}
