/** Of a rate limit that is on, and above every load. */
export const WIDE_LIMIT = '1000000000'
