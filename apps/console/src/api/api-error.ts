/** What a service refused, or why it could not be asked: then `status` is 0. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** What the service asks to wait. */
  readonly retryAfterMs: number | undefined

  constructor(
    readonly status: number,
    /** Of the service, or one of UNREACHABLE, TIMEOUT, MALFORMED. */
    readonly code: string,
    message: string,
    readonly requestId?: string,
    options?: ErrorOptions & { retryAfterMs?: number | undefined },
  ) {
    super(message, options)
    this.retryAfterMs = options?.retryAfterMs
  }
}

export const isApiError = (error: unknown): error is ApiError => error instanceof ApiError

/** Whether the same request may succeed soon. */
export const isPassing = (error: unknown): boolean =>
  isApiError(error) && (error.status === 0 || error.status === 429 || error.status >= 500)

/** Whether the service may have done what it was asked, although no answer of it came. */
export const isOutcomeUnknown = (error: unknown): error is ApiError =>
  isApiError(error) && (error.status === 0 || error.status >= 500)

/** In words. Wallets throw objects that are no errors. */
export function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' && message !== '' ? message : textOf(error)
}

function textOf(error: unknown): string {
  try {
    return JSON.stringify(error)
  } catch {
    // It has a BigInt, or itself.
    return String(error)
  }
}
