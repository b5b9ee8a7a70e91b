const limited = { RATE_LIMITED: 'Too many requests; `Retry-After` says when to go on.' }

export const refusals = {
  limited,
  bearer: {
    INVALID_TOKEN: 'The bearer token is missing, malformed or not one of ours.',
    EXPIRED_TOKEN: 'The bearer token has expired: refresh it, or sign in again.',
    REVOKED_TOKEN: 'The session was ended: sign in again.',
  },
  smallBody: { PAYLOAD_TOO_LARGE: 'The body has more than 32 KiB.' },
  unavailable: { UNAVAILABLE: 'Sign-in is unavailable; try again after `Retry-After`.' },
}
