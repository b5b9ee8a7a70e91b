import { ApiError } from '../errors'
import { type Budget, type Holder } from './memory-budget'

const MAX_WAITING = 4_096
const ACQUIRE_TIMEOUT_MS = 5_000
const RETRY_MS = 100

type Slot = { release: () => void }

/** Slots of a budget that a request can wait for: most of them are released within one turn of the event loop. */
export function createLargeBodySlots(budget: Budget) {
  const waiting = new Set<() => boolean>()
  let retry: NodeJS.Timeout | undefined

  function retryWaiting() {
    for (const attempt of waiting) if (attempt()) waiting.delete(attempt)
    if (waiting.size === 0) {
      clearInterval(retry)
      retry = undefined
    }
  }
  function tryAcquire(holders: readonly Holder[], evict: () => void): Slot | undefined {
    const reservation = budget.reserve(1, holders, evict)
    return (
      reservation && {
        release() {
          reservation.release()
          if (waiting.size > 0) retryWaiting()
        },
      }
    )
  }

  return {
    /** @throws ApiError OVERLOADED if no slot becomes free in time */
    acquire(holders: readonly Holder[], evict: () => void): Promise<Slot> {
      const slot = tryAcquire(holders, evict)
      if (slot) return Promise.resolve(slot)
      if (waiting.size >= MAX_WAITING) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        const attempt = () => {
          const acquired = tryAcquire(holders, evict)
          if (!acquired) return false
          clearTimeout(timeout)
          resolve(acquired)
          return true
        }
        const timeout = setTimeout(() => {
          waiting.delete(attempt)
          reject(overloaded())
        }, ACQUIRE_TIMEOUT_MS)
        waiting.add(attempt)
        retry ??= setInterval(retryWaiting, RETRY_MS)
      })
    },
  }
}

export const overloaded = (): ApiError =>
  new ApiError('OVERLOADED', 'Too many concurrent uploads; try again', { retryAfterSeconds: 1 })
