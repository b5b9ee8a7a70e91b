import { z } from 'zod'
import { type HeaderDescription } from './operation'

const text = (example: string) => z.string().meta({ examples: [example] })

type Headers = Record<string, HeaderDescription>

/** What createApp and the rate limits write into answers. */
export const commonHeaders = {
  always: {
    'X-Request-Id': {
      description:
        'In every answer: names the request in our logs, and is what to tell us when you ask about it. Your own, if you sent one of 1 to 64 letters, digits, `.`, `_` and `-`.',
      schema: text('0b9cbb9e-5f6a-4f0e-8a6e-3d1f9f0a7c11'),
    },
  } satisfies Headers,
  limited: {
    RateLimit: {
      description: 'What is left of the limit (`r`) and in how many seconds it starts anew (`t`).',
      schema: text('"auth";r=59;t=60'),
    },
    'RateLimit-Policy': {
      description: 'The limit: how many requests (`q`) in a window of how many seconds (`w`).',
      schema: text('"auth";q=60;w=60'),
    },
  } satisfies Headers,
  refused: {
    'Retry-After': {
      description: 'In how many seconds to try again.',
      schema: z
        .string()
        .regex(/^\d+$/)
        .meta({ examples: ['2'] }),
    },
  } satisfies Headers,
}

/** Of a 401. `takesKeys` where some operations take a client key, which is in headers of its own. */
export const challenges = (takesKeys: boolean): Headers => ({
  'WWW-Authenticate': {
    description: `The scheme to authenticate with: \`Bearer\`, with \`error="invalid_token"\` where a token came along${
      takesKeys ? '; `ClientKey` where the operation takes a client key' : ''
    }.`,
    schema: text('Bearer'),
  },
})
