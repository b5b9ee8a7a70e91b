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

/**
 * Whether the value satisfies the JSON schema of a stranger, by the keywords that take time linear in both: `type`, `const`,
 * `enum`, `properties`, `required`, `additionalProperties` and `items`. Ignores the others: a `pattern` may backtrack, and
 * `$ref` and `allOf` may repeat a check without bound.
 */
export function matchesSchema(value: unknown, schema: unknown): boolean {
  if (typeof schema === 'boolean') return schema
  if (!isObject(schema)) return false
  return (
    hasType(value, schema.type) &&
    (!('const' in schema) || isDeepStrictEqual(value, schema.const)) &&
    (!Array.isArray(schema.enum) || schema.enum.some((allowed) => isDeepStrictEqual(value, allowed))) &&
    (!isObject(value) || hasMembers(value, schema)) &&
    (!Array.isArray(value) ||
      schema.items === undefined ||
      value.every((item) => matchesSchema(item, schema.items)))
  )
}

const hasType = (value: unknown, type: unknown): boolean =>
  type === undefined ||
  [type].flat().some((name) => typeof name === 'string' && typeOf[name]?.(value) === true)

function hasMembers(value: Json, schema: Json): boolean {
  const { required, additionalProperties: additional, patternProperties } = schema
  const properties = isObject(schema.properties) ? schema.properties : {}
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false
  return Object.entries(value).every(([name, member]) => {
    if (Object.hasOwn(properties, name)) return matchesSchema(member, properties[name])
    return additional === undefined || patternProperties !== undefined || matchesSchema(member, additional)
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
