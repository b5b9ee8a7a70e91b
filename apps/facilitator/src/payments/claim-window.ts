import { ChainUnavailable } from '@tollgate/chains'

/** A request older than this no longer claims: its caller may have given up and had another answer since. */
const CLAIM_WITHIN_MS = 60_000

/** Who waits for the answer: since when (`performance.now()` as the request came in), and whether its connection is closed. */
export type Waiter = { arrivedAtMs: number; hasLeft: () => boolean }

export type ClaimWindow = ReturnType<typeof openClaimWindow>

/**
 * How long a request may claim a payment. Two clocks decide: ours up to the moment at which the claim is sent, and that of
 * Postgres, read on the way, at the moment at which it is carried out. So neither a stalled process nor a stalled connection
 * makes a claim for a caller that has given up.
 */
export function openClaimWindow({ arrivedAtMs, hasLeft }: Waiter, now: () => Date) {
  const openedAt = now().getTime()
  const elapsedMs = () => Math.max(performance.now() - arrivedAtMs, Math.abs(now().getTime() - openedAt))

  return {
    /** @throws ChainUnavailable, and then nothing may be claimed */
    assertOpen() {
      if (hasLeft()) throw new ChainUnavailable('The caller left before its payment was claimed')
      if (elapsedMs() > CLAIM_WITHIN_MS)
        throw new ChainUnavailable('The payment could not be claimed before its caller may have given up')
    },

    /** The end of the window by the clock of Postgres, of which `database` was read a moment ago. */
    endsAt: (database: Date) => new Date(database.getTime() + CLAIM_WITHIN_MS - elapsedMs()),
  }
}
