import { ChainUnavailable } from '@tollgate/chains'

/** An older request must not claim: its client may have timed out and tried elsewhere. */
const CLAIM_WINDOW_MS = 60_000

/** `arrivedAtMs`: `performance.now()` when the request arrived. `hasLeft`: the client closed the connection. */
export type Waiter = { arrivedAtMs: number; hasLeft: () => boolean }

export type ClaimWindow = ReturnType<typeof openClaimWindow>

/**
 * Limits how long a request may claim a payment, by our clock until the claim is sent and by that of Postgres when it runs.
 * Neither a stalled process nor a stalled connection can claim for a client that timed out.
 */
export function openClaimWindow({ arrivedAtMs, hasLeft }: Waiter, now: () => Date) {
  const openedAt = now().getTime()
  const elapsedMs = () => Math.max(performance.now() - arrivedAtMs, Math.abs(now().getTime() - openedAt))

  return {
    /** @throws ChainUnavailable */
    assertOpen() {
      if (hasLeft()) throw new ChainUnavailable('The caller left before its payment was claimed')
      if (elapsedMs() > CLAIM_WINDOW_MS)
        throw new ChainUnavailable('The payment could not be claimed before its caller may have given up')
    },

    /** The end of the window by the clock of Postgres. */
    endsAt: (databaseNow: Date) => new Date(databaseNow.getTime() + CLAIM_WINDOW_MS - elapsedMs()),
  }
}
