import { isDeepStrictEqual } from 'node:util'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const typeOf: Record<string, (value: unknown) => boolean> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

/** Far more than a description of a request takes: `items` checks each element against the whole schema. */
const MAX_STEPS = 2_000

/** Counts the checks and comparisons of one value. False once they are used up. */
type TakeStep = () => boolean

/**
 * Whether the value satisfies the JSON schema of a stranger, by the keywords `type`, `const`, `enum`, `properties`, `required`,
 * `additionalProperties` and `items`, within MAX_STEPS. Ignores the others: a `pattern` may backtrack, and `$ref` and `allOf` may
 * repeat a check without bound.
 */
export function matchesSchema(value: unknown, schema: unknown): boolean {
  let steps = 0
  return matches(value, schema, () => ++steps <= MAX_STEPS)
}

function matches(value: unknown, schema: unknown, takeStep: TakeStep): boolean {
  if (!takeStep()) return false
  if (typeof schema === 'boolean') return schema
  if (!isObject(schema)) return false
  return (
    hasType(value, schema.type, takeStep) &&
    (!('const' in schema) || isDeepStrictEqual(value, schema.const)) &&
    (!Array.isArray(schema.enum) ||
      schema.enum.some((allowed) => takeStep() && isDeepStrictEqual(value, allowed))) &&
    (!isObject(value) || hasMembers(value, schema, takeStep)) &&
    (!Array.isArray(value) ||
      schema.items === undefined ||
      value.every((item) => matches(item, schema.items, takeStep)))
  )
}

const hasType = (value: unknown, type: unknown, takeStep: TakeStep): boolean =>
  type === undefined ||
  [type].flat().some((name) => takeStep() && typeof name === 'string' && typeOf[name]?.(value) === true)

function hasMembers(value: Json, schema: Json, takeStep: TakeStep): boolean {
  const { required, additionalProperties: additional, patternProperties } = schema
  const properties = isObject(schema.properties) ? schema.properties : {}
  if (Array.isArray(required) && !required.every((name) => takeStep() && Object.hasOwn(value, String(name))))
    return false
  return Object.entries(value).every(([name, member]) => {
    if (Object.hasOwn(properties, name)) return matches(member, properties[name], takeStep)
    return (
      additional === undefined || patternProperties !== undefined || matches(member, additional, takeStep)
    )
  })
}

/** A reader of the schema must not be led to another document. */
export function hasExternalReference(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasExternalReference)
  if (!isObject(schema)) return false
  return Object.entries(schema).some(
    ([name, member]) =>
      ((name === '$ref' || name === '$id') && !(typeof member === 'string' && member.startsWith('#'))) ||
      hasExternalReference(member),
  )
}
