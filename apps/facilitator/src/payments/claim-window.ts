import { ChainUnavailable } from '@tollgate/chains'

/** An older request must not claim: its client may have timed out and tried elsewhere. */
const CLAIM_WINDOW_MS = 60_000

/** `arrivedAtMs`: `performance.now()` when the request arrived. */
export type ClientConnection = { arrivedAtMs: number; isClosed: () => boolean }

export type ClaimWindow = ReturnType<typeof openClaimWindow>

/**
 * Limits how long a request may claim a payment: by our clock until the claim is sent, by the clock of Postgres when it runs.
 * Neither a stalled process nor a stalled connection can claim for a client that timed out.
 */
export function openClaimWindow({ arrivedAtMs, isClosed }: ClientConnection, now: () => Date) {
  const openedAt = now().getTime()
  const elapsedMs = () => Math.max(performance.now() - arrivedAtMs, Math.abs(now().getTime() - openedAt))

  return {
    /** @throws ChainUnavailable */
    assertOpen() {
      if (isClosed()) throw new ChainUnavailable('The client disconnected before the payment was claimed')
      if (elapsedMs() > CLAIM_WINDOW_MS)
        throw new ChainUnavailable('The claim window closed before the payment was claimed')
    },

    /** The end of the window by the clock of Postgres. */
    endsAt: (databaseNow: Date) => new Date(databaseNow.getTime() + CLAIM_WINDOW_MS - elapsedMs()),
  }
}
