import { ApiError } from '@tollgate/service'

const RETRY_AFTER_SECONDS = 2

export const pendingPayment = (cause?: unknown) =>
  new ApiError('PAYMENT_PENDING', PENDING_MESSAGE, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause })

export const facilitatorBusy = (retryAfterSeconds = 30, cause?: unknown) =>
  new ApiError(
    'OVERLOADED',
    'No payment can be settled just now; nothing was charged, so send the same request with the same X-PAYMENT again later',
    { retryAfterSeconds, cause },
  )

export const disputedPayment = (id: string) =>
  new ApiError(
    'PAYMENT_DISPUTED',
    `The token moved something else than payment ${id} says, so nothing was credited; do not pay again, and ask the operator of this gateway to decide`,
  )

/** A payment that is recorded, or may be, continues despite the error: it may take money. */
export const asPending = (error: unknown) => (error instanceof ApiError ? error : pendingPayment(error))

const PENDING_MESSAGE =
  'The payment is being settled and its outcome is not known yet; send the same request with the same X-PAYMENT again, and do not pay a second time'
