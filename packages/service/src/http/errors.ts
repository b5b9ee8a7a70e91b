import { type ErrorRequestHandler, type Request } from 'express'
import { ApiError, type ErrorCode } from '../errors'
import { type Logger } from '../logger'
import { requestId } from './follow'

/** The codes of a 401, which must name the authentication scheme to use (RFC 9110, 11.6.1). */
export const challengedCodes: readonly ErrorCode[] = ['INVALID_TOKEN', 'EXPIRED_TOKEN', 'UNAUTHORIZED']

/**
 * Answers every error as `{ code, message, details? }`. What is not an ApiError is ours to mend: the client gets a
 * neutral 500, the log the error with its causes. An answer that had already begun is cut off, not garbled.
 */
export function answerErrors(logger: Logger): ErrorRequestHandler {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- Express knows an error handler by its four parameters
  return (error: unknown, req, res, _next) => {
    const answer = toApiError(error)
    const { code, message, status, details, retryAfterSeconds } = answer
    res.locals.code = code
    if (status >= 500)
      logger.log(status === 503 ? 'warn' : 'error', 'request failed', {
        requestId: requestId(req),
        code,
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

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  // The router's word for a path with a broken percent encoding.
  if (error instanceof URIError)
    return new ApiError('INVALID_REQUEST', 'The path is not properly percent-encoded; correct it')
  return new ApiError(
    'INTERNAL_ERROR',
    'Something failed on our side; try again, and tell us the X-Request-Id if it stays',
    {
      cause: error,
    },
  )
}
