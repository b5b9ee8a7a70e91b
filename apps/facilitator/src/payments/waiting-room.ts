import { type Caller } from '../clients/store'

const PLACES = 5_000

type Waiter = Pick<Caller, 'userId' | 'userFeeShareBps'>

/**
 * Shares the places of waiting requests. A user, and all new users together, may hold as many as are free: one alone fills half of
 * them, and the others still find room. A new user is one whose fee share no operator has set.
 */
export function createWaitingRoom(places = PLACES) {
  const held = new Map<string, number>()
  let taken = 0

  function count(holders: readonly string[], change: 1 | -1) {
    taken += change
    for (const holder of holders) {
      const places = (held.get(holder) ?? 0) + change
      if (places > 0) held.set(holder, places)
      else held.delete(holder)
    }
  }

  return {
    hasPlace: (waiter: Waiter): boolean =>
      holdersOf(waiter).every((holder) => (held.get(holder) ?? 0) < places - taken),

    /** Returns the function that leaves. */
    enter(waiter: Waiter): () => void {
      const holders = holdersOf(waiter)
      count(holders, 1)
      return () => count(holders, -1)
    },
  }
}

const holdersOf = ({ userId, userFeeShareBps }: Waiter): string[] => [
  `user ${userId}`,
  ...(userFeeShareBps === null ? ['new users'] : []),
]
