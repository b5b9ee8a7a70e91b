import { DatabaseError, isRolledBack } from '@tollgate/database'
import { ApiError } from '@tollgate/service'

const LOCK_NOT_AVAILABLE = '55P03'
const QUERY_CANCELED = '57014'

const ROLLBACK_CLASS = '40'

const codeOf = (error: unknown) => (error instanceof DatabaseError ? (error.code ?? '') : '')

export const isLockTimeout = (error: unknown) => codeOf(error) === LOCK_NOT_AVAILABLE

/** Whether a failed statement can succeed if retried: a concurrent one caused the failure. */
export function isTransient(error: unknown): boolean {
  const code = codeOf(error)
  return [LOCK_NOT_AVAILABLE, QUERY_CANCELED].includes(code) || code.startsWith(ROLLBACK_CLASS)
}

export function apiErrorOf(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause
  if (!isRolledBack(cause))
    return new ApiError(
      'UNAVAILABLE',
      'Whether this call was paid is not known; it was not made, and credits that it took are given back within a minute, so try again',
      { retryAfterSeconds: 2, cause },
    )
  if (isTransient(cause)) return accountBusy(cause)
  return new ApiError(
    'INTERNAL_ERROR',
    'The call could not be recorded; it was neither made nor charged. Report the X-Request-Id if this persists',
    { cause },
  )
}

export const accountBusy = (cause?: unknown) =>
  new ApiError('UNAVAILABLE', 'The account is busy and was not charged; try again', {
    retryAfterSeconds: 2,
    cause,
  })

export const creditsPending = (cause: unknown) =>
  new ApiError(
    'PAYMENT_PENDING',
    'The payment is settled and its credits follow in a moment; send the same request with the same X-PAYMENT again, and do not pay a second time',
    { retryAfterSeconds: 2, cause },
  )
