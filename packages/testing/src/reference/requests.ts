import { type operationsOf, type OpenApiDocument } from '@tollgate/service'
import fc from 'fast-check'
import { bodiesOf, type Body } from './body'
import { often } from './choices'
import { strangeHeaders, type Headers } from './headers'
import { hostileTexts } from './hostile'
import { valuesOf } from './values'

export type Described = ReturnType<typeof operationsOf>[number]

/** `<<name:n>>` stands for the n-th live value of that name, which the sender fills in. */
export type FuzzRequest = {
  operationId: string
  method: string
  route: string
  path: string
  headers: Headers
  body?: Body | undefined
}

/** What the requests of a service need beside the document. */
export type RequestOptions = {
  /** The relative frequency of an operation. */
  weightOf?: (described: Described) => number
  headersOf: (described: Described) => fc.Arbitrary<Headers>
  /** A path parameter that names an existing record. */
  pathOf?: (described: Described, name: string) => fc.Arbitrary<string> | undefined
  /** A valid body with live values, instead of the document's example. */
  bodyOf?: (described: Described, example: unknown) => fc.Arbitrary<unknown>
}

const usualWeight = ({ operation, path }: Described) =>
  operation.requestBody ? 6 : path.includes('{') ? 3 : 1

/** Requests to documented operations: valid, unusual but allowed, and hostile ones. */
export const requestsOf = (
  document: OpenApiDocument,
  requestOptions: RequestOptions,
  operations: Described[],
): fc.Arbitrary<FuzzRequest> =>
  fc.oneof(
    ...operations.map((described) => ({
      weight: (requestOptions.weightOf ?? usualWeight)(described),
      arbitrary: requestOf(document, described, requestOptions),
    })),
  )

function requestOf(
  document: OpenApiDocument,
  described: Described,
  requestOptions: RequestOptions,
): fc.Arbitrary<FuzzRequest> {
  const { method, path, operation } = described
  const headers = fc
    .tuple(requestOptions.headersOf(described), often(fc.constant<Headers>([]), strangeHeaders, 10))
    .map((lists) => lists.flat())

  return fc
    .record({
      path: targetOf(document, described, requestOptions),
      headers,
      sent: bodiesOf(document, operation.requestBody, (example) =>
        requestOptions.bodyOf?.(described, example),
      ),
    })
    .map(({ sent, ...request }) => ({
      operationId: operation.operationId,
      method: method.toUpperCase(),
      route: path,
      path: request.path,
      headers: [...request.headers, ...sent.headers],
      body: sent.body,
    }))
}

function targetOf(
  document: OpenApiDocument,
  described: Described,
  requestOptions: RequestOptions,
): fc.Arbitrary<string> {
  const { path, operation } = described
  const within = (place: string) => (operation.parameters ?? []).filter((parameter) => parameter.in === place)

  const segments = within('path').map(({ name, schema, example }) => {
    const good = fc.oneof(
      fc.constant(example),
      valuesOf(document, schema),
      requestOptions.pathOf?.(described, name) ?? fc.constant(example),
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
    const wrong = ['-1', '1e9', '1000000000', 'NaN', '%', '%ff', ''].map((value) => `${name}=${value}`)
    const pair = often(
      good.map((value) => `${name}=${encoded(String(value))}`),
      fc.oneof(
        hostileTexts.map((value) => `${name}=${encoded(value)}`),
        fc.constantFrom(
          ...wrong,
          name,
          `${name}[]=1`,
          `${name}[a]=1`,
          `${name}=1&${name}=2`,
          '__proto__[a]=1',
        ),
      ),
    )
    return fc.option(pair, { nil: undefined, freq: required ? 12 : 2 })
  })
  const extra = often(
    fc.constant(''),
    hostileTexts.map((text) => `x=${encoded(text)}`),
    20,
  )
  const fragment = often(fc.constant(''), fc.constantFrom('#', '#/x/y/z', '#?a=/b'), 20)
  const parts = fc.tuple(fc.tuple(...segments), fc.tuple(...pairs), extra, fragment)
  return parts.map(([values, query, more, end]) => {
    const filled = values.reduce((url, [name, value]) => url.replace(`{${name}}`, () => value), path)
    const search = [...query, more].filter((part) => part !== undefined && part !== '').join('&')
    return `${filled}${search === '' ? '' : `?${search}`}${end}`
  })
}

/** Node's HTTP clients send no other characters in a path. */
const encoded = (text: string) => encodeURIComponent(Buffer.from(text).toString()).replace(/^\.{1,2}$/, '%20')
const escapedSegment = (text: string) => (text.startsWith('<<') ? text : encoded(text))
