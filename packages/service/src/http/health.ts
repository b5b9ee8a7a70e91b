import { type RequestHandler } from 'express'
import { ApiError } from '../errors'

export type Health = {
  health: RequestHandler
  ready: RequestHandler
  /** From now on both answer 503. */
  stopping: () => void
}

/**
 * Handlers for the probes. `health` says that the process serves; `ready` also asks the parts it cannot do without, each
 * bounded by `timeoutMs`. Once `stopping` was called both answer 503, so that no new traffic is sent here.
 */
export function createHealth(
  options: {
    /** What else a healthy answer says. */
    facts?: () => object
    /** The parts, by name; one that rejects, resolves to false or takes too long makes the service not ready. */
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
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs)
  })
  try {
    return await Promise.race([check(), tooLate])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
