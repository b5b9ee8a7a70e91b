import { type z } from 'zod'
import { problemsOf } from './problems'

export const statusOf = {
  INVALID_REQUEST: 400,
  INVALID_PAYLOAD: 400,
  UNAUTHORIZED: 401,
  INVALID_SIGNATURE: 401,
  EXPIRED_NONCE: 401,
  INVALID_TOKEN: 401,
  EXPIRED_TOKEN: 401,
  FORBIDDEN: 403,
  REVOKED_TOKEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  PAYMENT_DISPUTED: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  EXPECTATION_FAILED: 417,
  UPGRADE_REQUIRED: 426,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  VERIFICATION_FAILED: 500,
  SETTLEMENT_FAILED: 500,
  UPSTREAM_FAILED: 500,
  INTERNAL_ERROR: 500,
  PAYMENT_PENDING: 503,
  OVERLOADED: 503,
  UNAVAILABLE: 503,
} as const

export type ErrorCode = keyof typeof statusOf

export type ApiErrorOptions = {
  details?: string
  /** Sent as `Retry-After`. */
  retryAfterSeconds?: number
  /** The authentication scheme of a 401, if not a bearer token. Sent as `WWW-Authenticate`. */
  challenge?: string
  cause?: unknown
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly details: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly challenge: string | undefined

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: ApiErrorOptions = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.details = options.details
    this.retryAfterSeconds = options.retryAfterSeconds
    this.challenge = options.challenge
  }

  get status() {
    return statusOf[this.code]
  }
}

/** @throws ApiError with `code`; its message names each invalid field and the expected type, and repeats no value */
export function parse<S extends z.ZodType>(
  schema: S,
  input: unknown,
  code: ErrorCode = 'INVALID_REQUEST',
): z.infer<S> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const problems = problemsOf(result.error).map(({ field, problem }) => `${field || 'the body'}: ${problem}`)
  throw new ApiError(code, `The request is not valid; correct it and send it again. ${problems.join('; ')}`)
}
