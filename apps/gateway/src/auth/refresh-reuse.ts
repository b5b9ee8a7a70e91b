import { latestArrival, type Arrival } from '@tollgate/service'

const MAX_ENTRIES = 10_000
/** Margin for a use on another replica, whose response time is unknown here. */
const OTHER_REPLICA_MARGIN_MS = 100

/**
 * Tells concurrent use from reuse of a refresh token: a second request that arrived before the first was answered is the same
 * client; one that arrived after is a different client, or a client that lost the response.
 */
export function createRefreshReuse() {
  const inFlight = new Map<string, Promise<boolean>>()
  /** The latest request that had arrived when a use was answered. Older uses are judged by `usedAt`. */
  const answeredAt = new Map<string, number>()

  function remember(name: string) {
    answeredAt.set(name, latestArrival())
    const [oldest] = answeredAt.keys()
    if (oldest !== undefined && answeredAt.size > MAX_ENTRIES) answeredAt.delete(oldest)
  }

  return {
    /**
     * Whether the request arrived after the token's use had ended. `usedAt` and `now`, the time at which it was read, are by the
     * clock of Postgres. A delay in this process makes the arrival look earlier, so a stalled replica does not end the session
     * of a client that sent two requests at once.
     */
    isReuse(
      hash: Buffer,
      { usedAt, now }: { usedAt: Date; now: Date },
      { monotonicMs, order }: Arrival,
    ): boolean {
      const answered = answeredAt.get(keyOf(hash))
      if (answered !== undefined) return order > answered
      const arrivedAt = now.getTime() - (performance.now() - monotonicMs)
      return arrivedAt >= usedAt.getTime() + OTHER_REPLICA_MARGIN_MS
    },

    /** Runs one use of a token at a time. Returns undefined to a caller that waited while another used the token. */
    async serialized<T>(hash: Buffer, use: () => Promise<T>): Promise<T | undefined> {
      const name = keyOf(hash)
      for (let other = inFlight.get(name); other; other = inFlight.get(name))
        if (await other) return undefined
      const using = use()
      inFlight.set(
        name,
        using.then(
          () => true,
          () => false,
        ),
      )
      try {
        const used = await using
        remember(name)
        return used
      } finally {
        inFlight.delete(name)
      }
    },
  }
}

const keyOf = (hash: Buffer) => hash.toString('base64')
