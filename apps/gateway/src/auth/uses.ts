import { latestArrival, type Arrival } from '@tollgate/service'

const MAX_REMEMBERED = 10_000
/** Of a use on another replica nobody here knows when it was answered: this much later, and no later, it may not have been. */
const ELSEWHERE_MS = 100

/**
 * The uses of refresh tokens in this process: who brings one a second time, before the first was answered, is one client
 * that asks twice; who does so after is somebody else, or has lost the answer.
 */
export function createUses() {
  const underWay = new Map<string, Promise<boolean>>()
  /** The newest request that was there when a use was answered; of uses long ago their time tells enough. */
  const answeredAt = new Map<string, number>()

  function remember(name: string) {
    answeredAt.set(name, latestArrival())
    const [oldest] = answeredAt.keys()
    if (oldest !== undefined && answeredAt.size > MAX_REMEMBERED) answeredAt.delete(oldest)
  }

  return {
    /**
     * Whether a request brings a token again whose use was over when it came in. `usedAt` and `now`, the time at which
     * `usedAt` was read, are by the clock of Postgres, which is the same for all replicas. Any delay in this process makes the
     * arrival look earlier than it was, so that a stalled replica ends no session of a client that asked twice at once.
     */
    isReuse(
      hash: Buffer,
      { usedAt, now }: { usedAt: Date; now: Date },
      { monotonicMs, order }: Arrival,
    ): boolean {
      const answered = answeredAt.get(nameOf(hash))
      if (answered !== undefined) return order > answered
      const arrivedAt = now.getTime() - (performance.now() - monotonicMs)
      return arrivedAt >= usedAt.getTime() + ELSEWHERE_MS
    },

    /** One use of a token at a time; undefined for who waited here while another one used the token up. */
    async inTurn<T>(hash: Buffer, use: () => Promise<T>): Promise<T | undefined> {
      const name = nameOf(hash)
      for (let other = underWay.get(name); other; other = underWay.get(name))
        if (await other) return undefined
      const using = use()
      underWay.set(
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
        underWay.delete(name)
      }
    },
  }
}

const nameOf = (hash: Buffer) => hash.toString('base64')
