import { type ErrorRequestHandler, type Request } from 'express'
import { ApiError, type ErrorCode } from '../errors'
import { type Logger } from '../logger'
import { requestId, spanOf } from './request-context'

/** About the time of a database restart. */
const RETRY_AFTER_SECONDS = 2

/** The codes of a 401 response, which must name an authentication scheme (RFC 9110, 11.6.1). */
export const challengedCodes: readonly ErrorCode[] = ['INVALID_TOKEN', 'EXPIRED_TOKEN', 'UNAUTHORIZED']

/** Undefined if the error has another cause than an unavailable dependency. */
export type UnavailableReason = (error: unknown) => string | undefined

/**
 * Responds to every error with `{ code, message, details? }`. An error other than an ApiError is a neutral 500, or a 503 if a
 * dependency is unavailable. An error after the headers were sent destroys the connection.
 */
export function respondWithError(
  logger: Logger,
  unavailableReason: UnavailableReason = () => undefined,
): ErrorRequestHandler {
  // oxlint-disable-next-line no-unused-vars -- Express knows an error handler by its four parameters
  return (error: unknown, req, res, _next) => {
    const reason = unavailableReason(error instanceof ApiError ? error.cause : error)
    const { code, message, status, details, retryAfterSeconds, challenge } = toApiError(
      error,
      reason !== undefined,
    )
    res.locals.code = code
    if (status >= 500)
      logger.log(error instanceof ApiError && status === 503 ? 'warn' : 'error', 'request failed', {
        requestId: requestId(req),
        traceId: spanOf(req)?.traceId,
        code,
        ...(reason === undefined ? {} : { reason }),
        error,
      })

    if (res.headersSent) {
      if (!res.writableEnded) res.destroy()
      return
    }
    if (retryAfterSeconds !== undefined)
      res.setHeader('Retry-After', Math.max(0, Math.ceil(retryAfterSeconds)))
    if (challengedCodes.includes(code)) res.setHeader('WWW-Authenticate', challenge ?? bearerChallenge(req))
    res.status(status).json({ code, message, ...(details === undefined ? {} : { details }) })
  }
}

/** An error is sent only to requests with a token (RFC 6750, 3). */
const bearerChallenge = ({ headers }: Request) =>
  headers.authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"'

function toApiError(error: unknown, isUnavailable: boolean): ApiError {
  if (error instanceof ApiError) return error
  // The router throws it for a path with a broken percent encoding.
  if (error instanceof URIError)
    return new ApiError('INVALID_REQUEST', 'The path is not properly percent-encoded; correct it')
  if (isUnavailable)
    return new ApiError('UNAVAILABLE', 'A part of this service gives no answer just now; try again', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  return new ApiError(
    'INTERNAL_ERROR',
    'Something failed on our side; try again, and tell us the X-Request-Id if it stays',
  )
}
