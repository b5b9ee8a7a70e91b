import { DatabaseError } from '@tollgate/database'
import { ApiError } from '@tollgate/service'

const LOCK_NOT_AVAILABLE = '55P03'
const QUERY_CANCELED = '57014'

/** Cardinality, data, integrity, rollback, limits of a statement, and what triggers raise. */
const UNDONE_CLASSES = ['21', '22', '23', '40', '54', 'P0']
const ROLLBACK_CLASS = '40'
const COMPLETION_UNKNOWN = '40003'

const codeOf = (error: unknown) => (error instanceof DatabaseError ? (error.code ?? '') : '')

/** Whether a lock was waited for in vain. */
export const isLockWait = (error: unknown) => codeOf(error) === LOCK_NOT_AVAILABLE

/**
 * Whether Postgres said of this very statement that it failed, and why: then nothing of it was done. After any other error,
 * and above all after a connection that broke or was closed, it may have been committed.
 */
export function isUndone(error: unknown): boolean {
  const code = codeOf(error)
  if (code === COMPLETION_UNKNOWN) return false
  return [LOCK_NOT_AVAILABLE, QUERY_CANCELED].includes(code) || UNDONE_CLASSES.includes(code.slice(0, 2))
}

/** Whether a statement that failed may succeed a moment later, for it failed by what others did. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  return [LOCK_NOT_AVAILABLE, QUERY_CANCELED].includes(code) || code.startsWith(ROLLBACK_CLASS)
}

/** What the caller is told whose call could not be paid for; the reason goes to the log alone. */
export function refusalOf(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause
  if (!isUndone(cause))
    return new ApiError(
      'UNAVAILABLE',
      'Whether this call was paid is not known; it was not made, and credits that it took are given back within a minute, so try again',
      { retryAfterSeconds: 2, cause },
    )
  if (isPassing(cause)) return accountBusy(cause)
  return new ApiError(
    'INTERNAL_ERROR',
    'This call could not be written down; it was not made and not charged, so tell us the X-Request-Id if that stays',
    { cause },
  )
}

export const accountBusy = (cause?: unknown) =>
  new ApiError('UNAVAILABLE', 'The account is busy, and nothing was taken from it; try again', {
    retryAfterSeconds: 2,
    cause,
  })

export const creditsFollow = (cause: unknown) =>
  new ApiError(
    'PAYMENT_PENDING',
    'The payment is settled and its credits follow in a moment; send the same request with the same X-PAYMENT again, and do not pay a second time',
    { retryAfterSeconds: 2, cause },
  )
