import { operationsOf, responseAt, type JsonSchema, type OpenApiDocument } from '@tollgate/service'
import Ajv from 'ajv/dist/2020'

export type Answered = { status: number; headers: Record<string, unknown>; text: string }

export type ContractOptions = {
  /** Headers of this service that only documented responses may have, in lower case. */
  ownHeaders?: readonly string[]
  /** Whether the response comes from the upstream. Unless it is 200, it is documented as `default`. */
  isPassedOn?: (headers: Answered['headers']) => boolean
}

export type Contract = ReturnType<typeof createContract>

/** Present exactly where documented. */
const promisedHeaders = ['retry-after', 'www-authenticate']

export function createContract(document: OpenApiDocument, options: ContractOptions = {}) {
  const { ownHeaders = [], isPassedOn = () => false } = options
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema({ $id: 'closed', components: closed(document.components) })
  ajv.addSchema({ $id: 'open', components: document.components })
  const validators = new Map<JsonSchema, ReturnType<typeof ajv.compile>>()

  /** Violations of the schema. Undocumented members count, unless `open`. */
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

  /** Undocumented parts of a response: status, headers, media type or body. */
  function problemsOfAnswer(method: string, path: string, { status, headers, text }: Answered): string[] {
    const responses = document.paths[path]?.[method]?.responses
    if (!responses) return ['the operation is not documented']
    const passedOn = isPassedOn(headers)
    const response = responseAt(document, responses[passedOn && status !== 200 ? 'default' : status])
    if (!response) return [`status ${status} is not documented`]
    const described = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()))
    const has = (name: string) => headers[name] !== undefined
    const undocumented = [...promisedHeaders, 'ratelimit', ...ownHeaders].filter(
      (name) => has(name) && !described.has(name),
    )
    if (undocumented.length > 0) return undocumented.map((name) => `header ${name} is not documented`)
    const missing = ['x-request-id', ...promisedHeaders].filter((name) => described.has(name) && !has(name))
    if (missing.length > 0) return missing.map((name) => `header ${name} is missing`)
    const [contentType = '', media] = Object.entries(response.content ?? {})[0] ?? []
    if (contentType === '*/*' || media === undefined) return []
    if (!String(headers['content-type']).startsWith(contentType))
      return [`is ${String(headers['content-type'])}`]
    return problemsOf(media.schema, contentType === 'application/json' ? JSON.parse(text) : text)
  }

  function examples(): { name: string; problems: string[] }[] {
    const within = operationsOf(document).flatMap(({ operation }) => {
      const { operationId, parameters = [], requestBody, responses } = operation
      const bodies = [
        requestBody,
        ...Object.values(responses).map((response) => responseAt(document, response)),
      ]
      return [
        ...bodies.flatMap((body) =>
          Object.values(body?.content ?? {}).flatMap(({ schema, examples: given = {} }) =>
            Object.entries(given).map(([name, { value }]) => ({
              name: `${operationId}, ${name}`,
              schema,
              value,
            })),
          ),
        ),
        ...parameters.flatMap(({ name, schema, example }) =>
          example === undefined ? [] : [{ name: `${operationId}, ${name}`, schema, value: example }],
        ),
      ]
    })
    const shapes = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      (schema.examples ?? []).map((value) => ({ name, schema, value })),
    )
    return [...within, ...shapes].map(({ name, schema, value }) => ({
      name,
      problems: problemsOf(schema, value),
    }))
  }

  return { problemsOf, problemsOfAnswer, examples }
}

/** Forbids additional properties, so that undocumented members are found. */
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
