import { ApiError } from '@tollgate/service'

const PLACES = 16
const MAX_WAITING = 256
const MAX_WAITING_PER_ADDRESS = 32
const WAIT_MS = 10_000

type Waiting = { address: string; admit(): void }

/**
 * The checks of contract wallets that are under way. A client's address may take half of the places that are free, so a flood from
 * some addresses leaves places for others. What finds none waits for a while.
 */
export function createCheckRoom({ waitMs = WAIT_MS }: { waitMs?: number } = {}) {
  const held = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let taken = 0

  const heldBy = (address: string) => held.get(address) ?? 0
  const hasPlace = (address: string) =>
    taken < PLACES && heldBy(address) < Math.max(1, Math.floor((PLACES - taken) / 2))

  function take(address: string): () => void {
    taken++
    held.set(address, heldBy(address) + 1)
    return () => {
      taken--
      const left = heldBy(address) - 1
      if (left > 0) held.set(address, left)
      else held.delete(address)
      for (const next of waiting) if (hasPlace(next.address)) next.admit()
    }
  }

  return {
    /** Returns the function that leaves. @throws ApiError OVERLOADED if no place becomes free in time */
    enter(address: string): Promise<() => void> {
      if (hasPlace(address)) return Promise.resolve(take(address))
      const own = [...waiting].filter((other) => other.address === address).length
      if (waiting.size >= MAX_WAITING || own >= MAX_WAITING_PER_ADDRESS) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        const entry: Waiting = {
          address,
          admit() {
            clearTimeout(timer)
            waiting.delete(entry)
            resolve(take(address))
          },
        }
        const timer = setTimeout(() => {
          waiting.delete(entry)
          reject(overloaded())
        }, waitMs)
        waiting.add(entry)
      })
    },
  }
}

const overloaded = () =>
  new ApiError('OVERLOADED', 'Too many contract wallets are being verified; try again', {
    retryAfterSeconds: 1,
  })
