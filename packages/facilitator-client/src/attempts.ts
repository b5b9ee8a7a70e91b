import { setTimeout as delay } from 'node:timers/promises'
import { FacilitatorError } from './errors'
import { final, type Failure } from './failure'

/** Before the second and the third (last) attempt. */
const PAUSES_MS = [100, 400]

export type Attempts = {
  /** For all attempts and pauses together. */
  timeoutMs: number
  mayRetry: (failure: Failure) => boolean
}

/**
 * Attempts a request up to three times; fails at once if the next pause would exceed the timeout.
 *
 * @throws FacilitatorError of the last attempt
 */
export async function withRetries<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  toFailure: (thrown: unknown) => Failure,
  { timeoutMs, mayRetry }: Attempts,
): Promise<T> {
  const endsAt = performance.now() + timeoutMs
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), timeoutMs)
  const failureOf = (thrown: unknown) =>
    deadline.signal.aborted
      ? final(new FacilitatorError('unknown', `The facilitator did not respond within ${timeoutMs} ms`))
      : toFailure(thrown)
  try {
    for (let attempts = 0; ; attempts++) {
      try {
        return await attempt(deadline.signal)
      } catch (thrown) {
        const failure = failureOf(thrown)
        const pauseMs = pauseBefore(attempts, failure)
        if (pauseMs === undefined || !mayRetry(failure) || performance.now() + pauseMs >= endsAt)
          throw failure.error
        await delay(pauseMs)
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Undefined after the last attempt. Jittered, so that clients that failed together do not retry together. */
function pauseBefore(attempts: number, { error }: Failure): number | undefined {
  const pauseMs = PAUSES_MS[attempts]
  if (pauseMs === undefined) return undefined
  return Math.max(pauseMs * (0.5 + Math.random()), (error.retryAfterSeconds ?? 0) * 1000)
}
