import { operationsOf, type OpenApiDocument } from '@tollgate/service'
import fc from 'fast-check'
import { hostileTexts, spoiled, spoiledText, valuesOf } from './arbitrary'

/** One request of a fuzz. `<<name:n>>` stands for the n-th live value of that name, which the sender fills in. */
export type FuzzRequest = {
  operationId: string
  method: string
  /** The path as it is documented. */
  route: string
  path: string
  headers: [string, string][]
  body?: { text: string; encoding: 'utf8' | 'latin1' | 'utf16le' } | undefined
}

type Described = ReturnType<typeof operationsOf>[number]

const often = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: rare })

const live = (name: string, count: number) =>
  fc.nat({ max: count - 1 }).map((index) => `<<${name}:${index}>>`)

/** How many live values there are of each name. */
export const liveCounts = {
  token: 3,
  poor: 1,
  ended: 1,
  spare: 60,
  refresh: 60,
  login: 80,
  payment: 60,
  wallet: 4,
}
export type LiveName = keyof typeof liveCounts | 'message' | 'signature' | 'address'

/** Requests of every operation of the document: good ones, allowed ones, and such as nobody sends in good faith. */
export function requestsOf(document: OpenApiDocument): fc.Arbitrary<FuzzRequest> {
  const weightOf = ({ operation, path }: Described) =>
    operation.requestBody ? 6 : path.includes('{') ? 3 : 1
  return fc.oneof(
    ...operationsOf(document).map((described) => ({
      weight: weightOf(described),
      arbitrary: requestOf(document, described),
    })),
  )
}

function requestOf(
  document: OpenApiDocument,
  { method, path, operation }: Described,
): fc.Arbitrary<FuzzRequest> {
  const { operationId, parameters = [], requestBody, security } = operation
  const within = (place: string) => parameters.filter((parameter) => parameter.in === place)

  const segments = within('path').map(({ name, schema, example }) => {
    const good = fc.oneof(
      fc.constant(example),
      valuesOf(document, schema),
      name === 'wallet' ? live('wallet', liveCounts.wallet) : fc.constant(example),
    )
    return often(
      good.map((value) => escapedSegment(String(value))),
      fc.oneof(
        hostileTexts.map(escapedSegment),
        fc.constantFrom('%', '%zz', '%00', '%ff', '%2F', '%2e%2e%2f', '1;a=b', '1,2'),
      ),
    ).map((value) => [name, value === '' ? '%20' : value] as const)
  })
  const pairs = within('query').map(({ name, schema, required, example }) => {
    const good =
      example === undefined
        ? valuesOf(document, schema)
        : fc.oneof(fc.constant(example), valuesOf(document, schema))
    const pair = often(
      good.map((value) => `${name}=${encoded(String(value))}`),
      fc.oneof(
        hostileTexts.map((value) => `${name}=${encoded(value)}`),
        fc.constantFrom(
          name,
          `${name}=`,
          `${name}[]=1`,
          `${name}[a]=1`,
          `${name}=1&${name}=2`,
          `${name}=%`,
          `${name}=%ff`,
          `__proto__[a]=1`,
        ),
      ),
    )
    return fc.option(pair, { nil: undefined, freq: required ? 12 : 2 })
  })
  const target = fc
    .tuple(
      fc.tuple(...segments),
      fc.tuple(...pairs),
      often(
        fc.constant(''),
        hostileTexts.map((text) => `x=${encoded(text)}`),
        20,
      ),
    )
    .map(([values, query, extra]) => {
      const filled = values.reduce((url, [name, value]) => url.replace(`{${name}}`, () => value), path)
      const search = [...query, extra].filter((part) => part !== undefined && part !== '').join('&')
      return search === '' ? filled : `${filled}?${search}`
    })

  const headers = fc
    .tuple(
      authorization(security !== undefined, operationId),
      path === '/rpc' ? payments : fc.constant<Headers>([]),
      often(fc.constant<Headers>([]), strangeHeaders, 10),
    )
    .map((lists) => lists.flat())

  return fc
    .record({ path: target, headers, sent: bodyOf(document, operationId, requestBody) })
    .map(({ sent, ...request }) => ({
      operationId,
      method: method.toUpperCase(),
      route: path,
      path: request.path,
      headers: [...request.headers, ...sent.headers],
      body: sent.body,
    }))
}

type Headers = [string, string][]

/** Node's clients send no other characters in a path. */
const encoded = (text: string) => encodeURIComponent(Buffer.from(text).toString()).replace(/^\.{1,2}$/, '%20')
const escapedSegment = (text: string) => (text.startsWith('<<') ? text : encoded(text))

function authorization(isNeeded: boolean, operationId: string): fc.Arbitrary<Headers> {
  const bearer = (token: fc.Arbitrary<string>) =>
    token.map((text): Headers => [['authorization', `Bearer ${text}`]])
  const strange = fc.oneof(
    fc.constant<Headers>([]),
    bearer(
      fc.constantFrom(
        '',
        'x',
        'a.b.c',
        '<<refresh:0>>',
        'eyJhbGciOiJub25lIn0.e30.',
        '<<token:0>>x',
        '<<token:0>> x',
        '"<<token:0>>"',
      ),
    ),
    headerText.map((text): Headers => [['authorization', text]]),
    fc.constant<Headers>([
      ['authorization', 'Bearer <<token:0>>'],
      ['authorization', 'Bearer <<token:1>>'],
    ]),
  )
  if (!isNeeded) return often(fc.constant<Headers>([]), strange, 12)
  if (operationId === 'logout') return often(bearer(live('spare', liveCounts.spare)), strange)
  const usual = fc.oneof(
    { weight: 8, arbitrary: live('token', liveCounts.token) },
    { weight: 2, arbitrary: fc.constant('<<poor:0>>') },
    { weight: 1, arbitrary: fc.constant('<<ended:0>>') },
  )
  return often(bearer(usual), strange, 12)
}

/** What a header can hold at all. */
const headerText = hostileTexts.map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 4_000))

const base64 = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64')

/** Marks what the sender writes in base64 once the live values are in it. */
export const BASE64_MARK = '~base64~'
const inBase64 = (value: unknown) => BASE64_MARK + JSON.stringify(value)

const payment = (proof: fc.Arbitrary<string>) => proof.map((text): Headers => [['x-payment', text]])

const payments: fc.Arbitrary<Headers> = fc.oneof(
  { weight: 40, arbitrary: fc.constant<Headers>([]) },
  { weight: 5, arbitrary: payment(live('payment', liveCounts.payment)) },
  { weight: 2, arbitrary: payment(headerText) },
  { weight: 2, arbitrary: payment(hostileTexts.map(base64)) },
  { weight: 2, arbitrary: payment(spoiled(paymentShape()).map(inBase64)) },
  {
    weight: 1,
    arbitrary: payment(spoiled({ paymentPayload: paymentShape(), paymentRequirements: {} }).map(base64)),
  },
  {
    weight: 1,
    arbitrary: payment(
      spoiledText(JSON.stringify(paymentShape()))
        .map(base64)
        .map((text) => text.slice(0, 12_000)),
    ),
  },
  {
    weight: 1,
    arbitrary: payment(fc.constantFrom('x'.repeat(12_289), '!!!!', '=', 'e30', 'bnVsbA==', '<<payment:0>>=')),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(live('payment', liveCounts.payment), headerText).map(([one, other]): Headers => [
      ['x-payment', one],
      ['x-payment', other],
    ]),
  },
)

/** A payment that could be one, but that nobody has signed. */
function paymentShape() {
  return {
    x402Version: 1,
    scheme: 'exact',
    network: 'base-sepolia',
    payload: {
      signature: `0x${'5c'.repeat(64)}1b`,
      authorization: {
        from: '<<wallet:0>>',
        to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        value: '10000',
        validAfter: '0',
        validBefore: '99999999999',
        nonce: `0x${'0d'.repeat(32)}`,
      },
    },
  }
}

const strangeHeaders: fc.Arbitrary<Headers> = fc.oneof(
  headerText.map((text): Headers => [['x-request-id', text]]),
  headerText.map((text): Headers => [['accept', text]]),
  headerText.map((text): Headers => [['accept-encoding', text]]),
  headerText.map((text): Headers => [['origin', text]]),
  headerText.map((text): Headers => [['x-forwarded-for', text]]),
  headerText.map((text): Headers => [['cookie', text]]),
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

type Sent = { headers: Headers; body?: FuzzRequest['body'] }

function bodyOf(
  document: OpenApiDocument,
  operationId: string,
  requestBody: Described['operation']['requestBody'],
): fc.Arbitrary<Sent> {
  const nothing = fc.constant<Sent>({ headers: [] })
  const media = requestBody?.content['application/json']
  if (!media) return often(nothing, typed(fc.constantFrom('{}', 'null', '{', deepText, '"x"')), 20)
  const good = fc.oneof(
    ...Object.values(media.examples ?? {}).map(({ value }) => liveBody(operationId, value)),
  )
  const valid = valuesOf(document, media.schema)
  const written = (values: fc.Arbitrary<unknown>) => values.map((value) => JSON.stringify(value))
  return fc.oneof(
    { weight: 8, arbitrary: typed(written(good)) },
    { weight: 6, arbitrary: typed(written(valid)) },
    { weight: 12, arbitrary: typed(written(good.chain(spoiled))) },
    { weight: 4, arbitrary: typed(written(valid.chain(spoiled))) },
    { weight: 6, arbitrary: typed(written(good).chain(spoiledText)) },
    { weight: 1, arbitrary: nothing },
  )
}

const deepText = '['.repeat(100_000)

/** The example with live values where it needs them. */
function liveBody(operationId: string, value: unknown): fc.Arbitrary<unknown> {
  if (operationId === 'refresh')
    return live('refresh', liveCounts.refresh).map((refresh_token) => ({ refresh_token }))
  if (operationId !== 'login') return fc.constant(value)
  return fc.nat({ max: liveCounts.login - 1 }).map((index) => ({
    ...(value as object),
    message: `<<message:${index}>>`,
    signature: `<<signature:${index}>>`,
    address: `<<address:${index}>>`,
  }))
}

/** The body under a media type, mostly the right one. */
const typed = (texts: fc.Arbitrary<string>): fc.Arbitrary<Sent> =>
  fc
    .tuple(
      texts,
      often(
        fc.constant('application/json'),
        fc.constantFrom(
          ...[
            'text/plain',
            'application/xml',
            'application/json; charset=utf-16',
            'application/json;charset="utf8"',
            '',
          ],
          ...[
            'application/x-www-form-urlencoded',
            'multipart/form-data; boundary=x',
            'APPLICATION/JSON',
            'application/json, text/html',
          ],
        ),
        15,
      ),
      often(fc.constant('utf8' as const), fc.constantFrom('latin1' as const, 'utf16le' as const), 30),
    )
    .map(([text, type, encoding]) => ({
      headers: type === '' ? [] : [['content-type', type] as [string, string]],
      body: { text, encoding },
    }))
