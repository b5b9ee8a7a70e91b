import { setTimeout as delay } from 'node:timers/promises'
import { FacilitatorError } from './errors'
import { final, type Failure } from './failure'

/** Before the second attempt and before the third, which is the last. */
const PAUSES_MS = [100, 400]

export type Attempts = {
  /** Bounds all attempts and the pauses between them together. */
  timeoutMs: number
  /** Whether it is safe to send the request again after this failure. */
  mayRepeat: (failure: Failure) => boolean
}

/**
 * The result of the first attempt that succeeds, of three at most. Gives up at once where the next pause would outlast the
 * deadline.
 *
 * @throws FacilitatorError of the last attempt
 */
export async function inAttempts<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  toFailure: (thrown: unknown) => Failure,
  { timeoutMs, mayRepeat }: Attempts,
): Promise<T> {
  const endsAt = performance.now() + timeoutMs
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), timeoutMs)
  const failureOf = (thrown: unknown) =>
    deadline.signal.aborted
      ? final(new FacilitatorError('unknown', `The facilitator gave no answer within ${timeoutMs} ms`))
      : toFailure(thrown)
  try {
    for (let attempts = 0; ; attempts++) {
      try {
        return await attempt(deadline.signal)
      } catch (thrown) {
        const failure = failureOf(thrown)
        const pauseMs = pauseBefore(attempts, failure)
        if (pauseMs === undefined || !mayRepeat(failure) || performance.now() + pauseMs >= endsAt)
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
