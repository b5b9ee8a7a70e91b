import { z } from 'zod'
import { type HeaderDescription } from './operation'

const text = (example: string) => z.string().meta({ examples: [example] })

type Headers = Record<string, HeaderDescription>

export const commonHeaders = {
  always: {
    'X-Request-Id': {
      description:
        'The id of the request in our logs; quote it when you ask for support. It is the id that you sent, if that has 1 to 64 letters, digits, `.`, `_` and `-`.',
      schema: text('0b9cbb9e-5f6a-4f0e-8a6e-3d1f9f0a7c11'),
    },
  } satisfies Headers,
  limited: {
    RateLimit: {
      description: 'The remaining requests (`r`) and the seconds until the limit resets (`t`).',
      schema: text('"auth";r=59;t=60'),
    },
    'RateLimit-Policy': {
      description: 'The limit: requests (`q`) per window of `w` seconds.',
      schema: text('"auth";q=60;w=60'),
    },
  } satisfies Headers,
  refused: {
    'Retry-After': {
      description: 'Seconds to wait before a retry.',
      schema: z
        .string()
        .regex(/^\d+$/)
        .meta({ examples: ['2'] }),
    },
  } satisfies Headers,
}

/** Headers of a 401. `takesKeys`: some operations accept a client key. */
export const challenges = (takesKeys: boolean): Headers => ({
  'WWW-Authenticate': {
    description: `The scheme to authenticate with: \`Bearer\`, with \`error="invalid_token"\` if a token was sent${
      takesKeys ? '; `ClientKey` if the operation requires a client key' : ''
    }.`,
    schema: text('Bearer'),
  },
})
