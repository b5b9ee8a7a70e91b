import { isApiError, isPassing } from './api-error'

const RETRIES = 3
const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 8_000
/** The reader does not look at a page that waits for longer. */
const MAX_RETRY_AFTER_MS = 15_000

/** Milliseconds of a header `Retry-After`, which has seconds or a date (RFC 9110, 10.2.3). */
export function retryAfterOf(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  const wait = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

const waitOf = (error: unknown) => (isApiError(error) ? (error.retryAfterMs ?? 0) : 0)

/** While the failure may pass, and not if the service asks for too long a wait. */
export const shouldRetry = (failures: number, error: unknown): boolean =>
  failures < RETRIES && isPassing(error) && waitOf(error) <= MAX_RETRY_AFTER_MS

export const retryDelayOf = (failures: number, error: unknown): number =>
  Math.max(Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS), waitOf(error))
