const limited = { RATE_LIMITED: 'Too many requests; `Retry-After` says when to try again.' }

export const refusals = {
  limited,
  longResponses: { OVERLOADED: 'Too many long answers are asked for; try again after `Retry-After`.' },
  user: {
    UNAUTHORIZED:
      'The access token is missing, malformed, expired or not one of ours, or its session has ended.',
    ...limited,
  },
  client: {
    UNAUTHORIZED: 'The client key is missing, wrong, revoked or expired, or its user is disabled.',
    FORBIDDEN: 'The scope of the client key does not cover this operation.',
  },
  admin: {
    UNAUTHORIZED: 'The admin token is missing or wrong, or none is configured.',
    RATE_LIMITED: 'Too many wrong admin tokens from this address; `Retry-After` says when to try again.',
  },
  passwordChecks: { OVERLOADED: 'Too many passwords are being checked; try again after `Retry-After`.' },
}

/** The security schemes. A client key consists of two headers. */
export const callers = {
  user: ['bearer'],
  client: [['clientId', 'clientToken']],
  admin: ['admin'],
} as const
