/**
 * A request without a result, by its `kind`:
 *
 * - `rejected`: the request is malformed (400 `INVALID_REQUEST` or `INVALID_PAYLOAD`, or an invalid idempotency key). Nothing
 *   was broadcast, and a retry would be rejected too.
 * - `unauthorized`: the client key is invalid or revoked (401), or its scope does not cover the call (403). The request was
 *   not executed.
 * - `unknown`: the request may or may not have been executed; retry it.
 */
export class FacilitatorError extends Error {
  override readonly name = 'FacilitatorError'

  constructor(
    readonly kind: 'rejected' | 'unauthorized' | 'unknown',
    message: string,
    readonly status?: number,
    readonly code?: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(message)
  }
}
