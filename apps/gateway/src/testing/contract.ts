import { responseAt, type JsonSchema, type OpenApiDocument } from '@tollgate/service'
import Ajv from 'ajv/dist/2020'

/** An answer as it came over the wire. */
export type Answered = { status: number; headers: Record<string, unknown>; text: string }

/** The document as what it promises: finds what an answer or an example does that it does not say. */
export function createContract(document: OpenApiDocument) {
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema({ $id: 'closed', components: closed(document.components) })
  ajv.addSchema({ $id: 'open', components: document.components })
  const validators = new Map<JsonSchema, ReturnType<typeof ajv.compile>>()

  /** What of `value` is not as the schema says; members that are not described are found too, unless it is `open`. */
  function problemsOf(schema: JsonSchema, value: unknown, { open = false } = {}): string[] {
    let validate = validators.get(schema)
    if (!validate) {
      validate = ajv.compile(open ? rooted(schema, 'open') : rooted(closed(schema), 'closed'))
      validators.set(schema, validate)
    }
    if (validate(value)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message }) => `${instancePath || 'value'} ${message ?? ''}`,
    )
  }

  /** What of an answer the operation does not document: its status, its media type, its body, or a missing header. */
  function problemsOfAnswer(method: string, path: string, { status, headers, text }: Answered): string[] {
    const responses = document.paths[path]?.[method]?.responses
    if (!responses) return ['the operation is not documented']
    const isOurs = headers['x-credits-charged'] === undefined
    const response = responseAt(document, responses[isOurs || status === 200 ? status : 'default'])
    if (!response) return [`status ${status} is not documented`]
    if (status === 503 && headers['retry-after'] === undefined) return ['503 without Retry-After']
    const undocumented = ['retry-after', 'ratelimit', 'x-payment-response', 'x-credits-remaining'].filter(
      (name) =>
        headers[name] !== undefined &&
        !Object.keys(response.headers ?? {}).some((described) => described.toLowerCase() === name),
    )
    if (undocumented.length > 0) return undocumented.map((name) => `header ${name} is not documented`)
    const [contentType = '', media] = Object.entries(response.content ?? {})[0] ?? []
    if (contentType === '*/*' || media === undefined) return []
    if (!String(headers['content-type']).startsWith(contentType))
      return [`is ${String(headers['content-type'])}`]
    return problemsOf(media.schema, contentType === 'application/json' ? JSON.parse(text) : text)
  }

  return { problemsOf, problemsOfAnswer }
}

/** The schema without members that it does not name, so that an answer says nothing that is not documented. */
function closed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closed) as T
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, closed(member as unknown)]),
  )
  const isObject = copy['type'] === 'object' && copy['properties'] !== undefined
  return (isObject ? { additionalProperties: false, ...copy } : copy) as T
}

const rooted = (schema: JsonSchema, id: string): JsonSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${id}#/components/`)) as JsonSchema
