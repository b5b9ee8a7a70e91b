import { type ErrorRequestHandler, type Request } from 'express'
import { ApiError, type ErrorCode } from '../errors'
import { type Logger } from '../logger'
import { requestId } from './follow'

/** A database that is started again takes about as long. */
const RETRY_AFTER_SECONDS = 2

/** The codes of a 401, which must name the authentication scheme to use (RFC 9110, 11.6.1). */
export const challengedCodes: readonly ErrorCode[] = ['INVALID_TOKEN', 'EXPIRED_TOKEN', 'UNAUTHORIZED']

/** Why a part of the service that it cannot do without gives no answer; undefined for an error that says something else. */
export type ReasonAway = (error: unknown) => string | undefined

/**
 * Answers every error as `{ code, message, details? }`. What is not an ApiError is ours to mend: the client is told to come
 * back where it says that a part is away, and gets a neutral 500 otherwise; the log gets the error with its causes, and the
 * reason. An answer that had already begun is cut off, not garbled.
 */
export function answerErrors(logger: Logger, reasonAway: ReasonAway = () => undefined): ErrorRequestHandler {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- Express knows an error handler by its four parameters
  return (error: unknown, req, res, _next) => {
    const reason = reasonAway(error instanceof ApiError ? error.cause : error)
    const answer = toApiError(error, reason !== undefined)
    const { code, message, status, details, retryAfterSeconds } = answer
    res.locals.code = code
    if (status >= 500)
      logger.log(error instanceof ApiError && status === 503 ? 'warn' : 'error', 'request failed', {
        requestId: requestId(req),
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
    if (challengedCodes.includes(code))
      res.setHeader('WWW-Authenticate', answer.challenge ?? bearerChallenge(req))
    res.status(status).json({ code, message, ...(details === undefined ? {} : { details }) })
  }
}

/** RFC 6750, 3: the error is told only to who sent a token. */
const bearerChallenge = ({ headers }: Request) =>
  headers.authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"'

function toApiError(error: unknown, isPartAway: boolean): ApiError {
  if (error instanceof ApiError) return error
  // The router's word for a path with a broken percent encoding.
  if (error instanceof URIError)
    return new ApiError('INVALID_REQUEST', 'The path is not properly percent-encoded; correct it')
  if (isPartAway)
    return new ApiError('UNAVAILABLE', 'A part of this service gives no answer just now; try again', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  return new ApiError(
    'INTERNAL_ERROR',
    'Something failed on our side; try again, and tell us the X-Request-Id if it stays',
  )
}
