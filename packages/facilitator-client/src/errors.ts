/**
 * A request that brought no result, by what its caller may conclude from it.
 *
 * - `rejected`: the request is malformed (400 `INVALID_REQUEST` or `INVALID_PAYLOAD`, or an idempotency key refused before
 *   anything was sent). Nothing was sent to a chain; the same request would be rejected again.
 * - `unauthorized`: the client key is not valid, or no more (401), or its scope does not cover the call (403). This
 *   request was not carried out. Another key is told nothing of what this one has claimed.
 * - `unknown`: it may or may not have been carried out; ask again.
 */
export class FacilitatorError extends Error {
  override readonly name = 'FacilitatorError'

  constructor(
    readonly kind: 'rejected' | 'unauthorized' | 'unknown',
    message: string,
    /** HTTP status of the answer, where there was one. */
    readonly status?: number,
    /** The facilitator's error code, where it gave one. */
    readonly code?: string,
    /** How long the facilitator asks to be left alone, where it does. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message)
  }
}
