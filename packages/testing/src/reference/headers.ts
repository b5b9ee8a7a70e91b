import fc from 'fast-check'
import { hostileTexts } from './hostile'

export type Headers = [string, string][]

export const headerTexts = hostileTexts.map((text) =>
  text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 4_000),
)

export const strangeHeaders: fc.Arbitrary<Headers> = fc.oneof(
  ...['x-request-id', 'accept', 'accept-encoding', 'origin', 'x-forwarded-for', 'cookie'].map((name) =>
    headerTexts.map((text): Headers => [[name, text]]),
  ),
  fc.constantFrom<Headers>(
    [['x-large', 'x'.repeat(20_000)]],
    [['content-encoding', 'gzip']],
    [['content-encoding', 'br, gzip']],
    [['content-encoding', 'secret']],
    [['if-none-match', '*']],
    [['range', 'bytes=0-1']],
    [['x-http-method-override', 'DELETE']],
  ),
)

export const bearer = (token: fc.Arbitrary<string>): fc.Arbitrary<Headers> =>
  token.map((text): Headers => [['authorization', `Bearer ${text}`]])

/** Missing, malformed and wrong credentials: `good` is a valid token, `others` are tokens of other kinds. */
export const strangeAuthorization = (good: string, ...others: string[]): fc.Arbitrary<Headers> =>
  fc.oneof(
    fc.constant<Headers>([]),
    bearer(
      fc.constantFrom(
        ...['', 'x', 'a.b.c', 'eyJhbGciOiJub25lIn0.e30.'],
        ...others,
        ...[`${good}x`, `${good} x`, `"${good}"`],
      ),
    ),
    headerTexts.map((text): Headers => [['authorization', text]]),
    ...others.map((other) =>
      fc.constant<Headers>([
        ['authorization', `Bearer ${good}`],
        ['authorization', `Bearer ${other}`],
      ]),
    ),
  )
