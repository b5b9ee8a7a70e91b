import { type operationsOf, type OpenApiDocument } from '@tollgate/service'
import fc from 'fast-check'
import { often } from './choices'
import { type Headers } from './headers'
import { spoiled, spoiledText } from './hostile'
import { valuesOf } from './values'

export type Body = {
  text: string
  encoding: 'utf8' | 'latin1' | 'utf16le'
  compression?: 'gzip' | 'br' | undefined
}

type Sent = { headers: Headers; body?: Body }

/** Bodies for an operation, whether it takes one or not. `meant` turns an example into a valid body. */
export function bodiesOf(
  document: OpenApiDocument,
  requestBody: ReturnType<typeof operationsOf>[number]['operation']['requestBody'],
  meant: (example: unknown) => fc.Arbitrary<unknown> | undefined,
): fc.Arbitrary<Sent> {
  const nothing = fc.constant<Sent>({ headers: [] })
  const media = requestBody?.content['application/json']
  if (!media) return often(nothing, typed(fc.constantFrom('{}', 'null', '{', deepText, '"x"')), 20)
  const examples = Object.values(media.examples ?? {})
  const good = fc.oneof(...examples.map(({ value }) => meant(value) ?? fc.constant(value)))
  const valid = valuesOf(document, media.schema)
  const written = (values: fc.Arbitrary<unknown>) => values.map((value) => JSON.stringify(value))
  return fc.oneof(
    { weight: 80, arbitrary: typed(written(good)) },
    { weight: 60, arbitrary: typed(written(valid)) },
    { weight: 120, arbitrary: typed(written(good.chain(spoiled))) },
    { weight: 40, arbitrary: typed(written(valid.chain(spoiled))) },
    { weight: 60, arbitrary: typed(written(good).chain(spoiledText)) },
    { weight: 10, arbitrary: nothing },
    { weight: 1, arbitrary: huge },
  )
}

const deepText = '['.repeat(100_000)

const json = (body: Body, ...headers: Headers): Sent => ({
  headers: [['content-type', 'application/json'], ...headers],
  body,
})

/** Five million characters; the second compresses well. */
const huge: fc.Arbitrary<Sent> = fc.constantFrom<Sent>(
  json({ text: `{"a":"${'x'.repeat(5_000_000)}"}`, encoding: 'utf8' }),
  json({ text: ' '.repeat(10_000_000), encoding: 'latin1', compression: 'gzip' }, [
    'content-encoding',
    'gzip',
  ]),
  json({ text: '['.repeat(10_000_000), encoding: 'latin1', compression: 'br' }, ['content-encoding', 'br']),
)

const otherTypes = [
  ...['text/plain', 'application/xml', 'application/json; charset=utf-16', 'application/json;charset="utf8"'],
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'APPLICATION/JSON'],
  ...['application/json, text/html', ''],
]

/** Mostly with the right media type. */
const typed = (texts: fc.Arbitrary<string>): fc.Arbitrary<Sent> =>
  fc
    .record({
      text: texts,
      type: often(fc.constant('application/json'), fc.constantFrom(...otherTypes), 15),
      encoding: often(
        fc.constant('utf8' as const),
        fc.constantFrom('latin1' as const, 'utf16le' as const),
        30,
      ),
      compression: often(fc.constant(undefined), fc.constantFrom('gzip' as const, 'br' as const), 30),
    })
    .map(({ text, type, encoding, compression }) => ({
      headers: [
        ...(type === '' ? [] : ([['content-type', type]] satisfies Headers)),
        ...(compression === undefined ? [] : ([['content-encoding', compression]] satisfies Headers)),
      ],
      body: { text, encoding, compression },
    }))
