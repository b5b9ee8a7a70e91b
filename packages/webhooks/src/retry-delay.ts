const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export const GIVE_UP_AFTER_MS = 72 * HOUR_MS
const MIN_DELAY_MS = 5_000
const MAX_DELAY_MS = 2 * HOUR_MS
const JITTER = 0.1

/**
 * How long after a failed attempt the next one is due: as long as the delivery has been tried, so that the delays double, with 10 %
 * of jitter (`random` from 0 to 1). The last attempt is after three days; undefined from then on.
 */
export function retryDelay(elapsedMs: number, random: number): number | undefined {
  const remainingMs = GIVE_UP_AFTER_MS - elapsedMs
  if (remainingMs <= 0) return undefined
  const delayMs = Math.min(Math.max(elapsedMs, MIN_DELAY_MS), MAX_DELAY_MS) * (1 + JITTER * (2 * random - 1))
  return Math.ceil(Math.min(delayMs, remainingMs))
}
