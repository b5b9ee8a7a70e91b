/** Limits the time to the first byte of an answer, as a multiple of an upstream's timeout. */
export const MAX_TOTAL_TIMEOUTS = 2
