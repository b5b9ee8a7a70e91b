import { ApiError } from '../errors'
import { type Budget, type Holder } from './budget'

const MAX_WAITING = 4_096
const MAX_WAIT_MS = 5_000
/** How often those who wait look for a place whose holder has become old enough to be evicted. */
const RETRY_MS = 100

type Place = { release: () => void }

/** Places of a budget that can be waited for, because most of them are free again within a turn of the event loop. */
export function createPlaces(budget: Budget) {
  const waiting = new Set<() => boolean>()
  let retry: NodeJS.Timeout | undefined

  function admit() {
    for (const enter of waiting) if (enter()) waiting.delete(enter)
    if (waiting.size === 0) {
      clearInterval(retry)
      retry = undefined
    }
  }
  function take(holders: readonly Holder[], evict: () => void): Place | undefined {
    const reservation = budget.reserve(1, holders, evict)
    return (
      reservation && {
        release() {
          reservation.release()
          if (waiting.size > 0) admit()
        },
      }
    )
  }

  /** @throws ApiError OVERLOADED where no place is free in time */
  return (holders: readonly Holder[], evict: () => void): Promise<Place> => {
    const place = take(holders, evict)
    if (place) return Promise.resolve(place)
    if (waiting.size >= MAX_WAITING) return Promise.reject(overloaded())
    return new Promise((resolve, reject) => {
      const enter = () => {
        const found = take(holders, evict)
        if (!found) return false
        clearTimeout(tooLate)
        resolve(found)
        return true
      }
      const tooLate = setTimeout(() => {
        waiting.delete(enter)
        reject(overloaded())
      }, MAX_WAIT_MS)
      waiting.add(enter)
      retry ??= setInterval(admit, RETRY_MS)
    })
  }
}

export const overloaded = (): ApiError =>
  new ApiError('OVERLOADED', 'Too many bodies are on their way just now; try again', { retryAfterSeconds: 1 })
