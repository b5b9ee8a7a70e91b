/**
 * What a caller must know about a request that brought no result. `rejected`: the facilitator understood it and will
 * not do it (4xx), so nothing was sent to a chain. `unknown`: it may or may not have been carried out; ask again.
 */
export class FacilitatorError extends Error {
  override readonly name = 'FacilitatorError'

  constructor(
    readonly kind: 'rejected' | 'unknown',
    message: string,
    /** HTTP status of the answer, where there was one. */
    readonly status?: number,
    /** The facilitator's error code, where it gave one. */
    readonly code?: string,
  ) {
    super(message)
  }
}
