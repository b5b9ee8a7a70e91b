import { LRUCache } from 'lru-cache'

export type LimitState = { remainingPoints: number; msBeforeNext: number }

/** Rejects with the state if fewer points are left. */
type TakePoints = (key: string, points: number) => Promise<LimitState>

/** What this process knows of a key in the current window. */
type Held = {
  unused: number
  /** Left in the shared counter when points were last taken. */
  left: number
  endsAt: number
  /** Taken in advance the last time. */
  advance: number
  isTaking: Promise<void> | undefined
}

const MAX_KEYS = 65_536
/** At most this part of what a key has left is taken in advance. */
const MAX_ADVANCE = 1 / 16
/** Ends of windows that differ by less are the same: they are read with the delay of a request. */
const SAME_WINDOW_MS = 1_000

/**
 * Takes points from a shared counter, for a busy key some in advance, so that most calls need no request. The limit is never
 * exceeded, however many replicas count. A replica holds at most as many unused points of a key as the key used there in the
 * window, and at most a sixteenth of what was left: at worst, these are missing elsewhere until the window ends, as are those of a
 * request that was refused with its advance.
 */
export function createPointsInAdvance(take: TakePoints, monotonicMs: () => number) {
  const keys = new LRUCache<string, Held>({ max: MAX_KEYS })

  async function takeMore(key: string, cost: number, advance: number): Promise<LimitState> {
    // The window ends no earlier than this, however late the reply is read.
    const askedAt = monotonicMs()
    const { remainingPoints: left, msBeforeNext } = await take(key, cost + advance).catch(
      (error: unknown) => {
        forget(key)
        throw error
      },
    )
    const endsAt = askedAt + msBeforeNext
    const held = keys.get(key)
    if (held && Math.abs(endsAt - held.endsAt) < SAME_WINDOW_MS)
      Object.assign(held, { unused: held.unused + advance, left, endsAt, advance })
    else keys.set(key, { unused: advance, left, endsAt, advance, isTaking: undefined })
    return { remainingPoints: left + (keys.get(key)?.unused ?? 0), msBeforeNext }
  }

  /** After a refusal or a failure nothing is taken in advance, so that no call waits for another. */
  function forget(key: string) {
    const held = keys.get(key)
    if (held) Object.assign(held, { left: 0, advance: 0 })
  }

  function takeInAdvance(key: string, cost: number, held: Held): Promise<LimitState> {
    const advance = Math.min(2 * held.advance + cost, Math.floor(held.left * MAX_ADVANCE))
    const taken = takeMore(key, cost, advance)
    if (advance > 0) {
      const end = () => void (held.isTaking = undefined)
      held.isTaking = taken.then(end, end)
    }
    return taken
  }

  /** Undefined if too few points were taken. */
  function use(key: string, cost: number): LimitState | undefined {
    const held = keys.get(key)
    const now = monotonicMs()
    if (!held || now >= held.endsAt || held.unused < cost) return undefined
    held.unused -= cost
    return { remainingPoints: held.left + held.unused, msBeforeNext: held.endsAt - now }
  }

  return {
    use,

    async useOrTake(key: string, cost: number): Promise<LimitState> {
      for (;;) {
        const state = use(key, cost)
        if (state) return state
        const held = keys.get(key)
        if (!held || monotonicMs() >= held.endsAt) return takeMore(key, cost, 0)
        if (!held.isTaking) return takeInAdvance(key, cost, held)
        await held.isTaking
      }
    },
  }
}
