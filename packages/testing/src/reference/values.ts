import { type JsonSchema, type OpenApiDocument } from '@tollgate/service'
import fc from 'fast-check'

/** Values that a schema of the document allows, including its boundaries. */
export function valuesOf(document: OpenApiDocument, schema: JsonSchema): fc.Arbitrary<unknown> {
  const values = (part: JsonSchema) => valuesOf(document, part)
  const { $ref, type, items, maximum = Number.MAX_SAFE_INTEGER } = schema
  if ($ref !== undefined)
    return values(document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {})
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (type === 'object') return objectsOf(schema, values)
  if (type === 'array')
    return fc.array(values(items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 4 })
  if (type === 'string') return stringsOf(schema)
  if (type === 'integer' || type === 'number') {
    const minimum = schema.minimum ?? (schema.exclusiveMinimum ?? -1) + 1
    const min = Math.ceil(minimum)
    return fc.oneof(
      fc.constantFrom(minimum, maximum),
      fc.integer({ min, max: Math.min(maximum, Math.max(min, 200)) }),
    )
  }
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  const choices = schema.anyOf ?? schema.oneOf
  return choices ? fc.oneof(...choices.map(values)) : fc.jsonValue({ maxDepth: 3 })
}

function objectsOf(schema: JsonSchema, values: (part: JsonSchema) => fc.Arbitrary<unknown>) {
  const { properties, required = [], anyOf = [{}] } = schema
  if (properties === undefined)
    return fc.dictionary(fc.string({ maxLength: 12 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
  const members = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, values(part)]))
  return fc.oneof(
    ...anyOf.map((choice) => fc.record(members, { requiredKeys: [...required, ...(choice.required ?? [])] })),
  )
}

function stringsOf(schema: JsonSchema) {
  const { minLength = 0, maxLength = 64, pattern, not, format, examples = [] } = schema
  const options: fc.Arbitrary<string>[] = examples.map((example) => fc.constant(String(example)))
  if (format === 'date-time') options.push(fc.date({ noInvalidDate: true }).map((date) => date.toISOString()))
  else if (pattern !== undefined) options.push(...matching(pattern))
  else {
    options.push(fc.string({ minLength, maxLength: Math.min(maxLength, 48) }))
    options.push(fc.constantFrom('x'.repeat(minLength), 'x'.repeat(maxLength)))
  }
  const refused = not?.pattern === undefined ? undefined : new RegExp(not.pattern)
  return fc
    .oneof(...options)
    .filter(
      (text) =>
        text.length >= minLength && text.length <= (schema.maxLength ?? Infinity) && !refused?.test(text),
    )
}

const kinds = [
  fc.string({ maxLength: 24 }),
  fc.webUrl(),
  fc.webPath(),
  fc.emailAddress(),
  fc
    .date({ noInvalidDate: true, min: new Date('1000-01-01'), max: new Date('9999-12-31') })
    .map((date) => date.toISOString().slice(0, 10)),
]

/**
 * Texts that match a pattern; for patterns that fast-check cannot generate, common texts that often match.
 */
function matching(pattern: string): fc.Arbitrary<string>[] {
  const regex = new RegExp(pattern, 'u')
  try {
    const texts = fc.stringMatching(regex)
    fc.sample(texts, 1)
    return [texts]
  } catch {
    const often = kinds.filter(
      (kind) => fc.sample(kind, { numRuns: 100, seed: 1 }).filter((text) => regex.test(text)).length > 30,
    )
    return often.map((kind) => kind.filter((text) => regex.test(text)))
  }
}
