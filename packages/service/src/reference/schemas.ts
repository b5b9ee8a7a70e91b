import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { type JsonSchema } from './document'
import { portablePattern } from './portable-pattern'

export type SharedSchemas = ReturnType<typeof createSharedSchemas>

/** Converts zod schemas to JSON Schema. A schema with an `id` in its metadata is written once and referenced. */
export function createSharedSchemas() {
  const shared: Record<string, JsonSchema> = {}

  function share(id: string, schema: JsonSchema): JsonSchema {
    const known = shared[id]
    if (known && !isDeepStrictEqual(known, schema))
      throw new Error(`The schema ${id} has two definitions: give one of them another id`)
    shared[id] = schema
    return { $ref: `#/components/schemas/${id}` }
  }

  return {
    shared,

    /**
     * `input` is the form before transformations and defaults, `output` the form after them.
     *
     * @throws Error if two different schemas share an id
     */
    of(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
      const { $defs, ...root } = JSON.parse(jsonOf(schema, io)) as JsonSchema & {
        $schema?: string
        $defs?: Record<string, JsonSchema>
      }
      delete root.$schema
      for (const [id, part] of Object.entries($defs ?? {})) share(id, part)
      const id = z.globalRegistry.get(schema)?.id
      return id === undefined || root.$ref !== undefined ? root : share(id, root)
    },
  }
}

const converted = { input: new WeakMap<z.ZodType, string>(), output: new WeakMap<z.ZodType, string>() }

/** Converts each schema once in a process: a service has some hundred, and a test starts many services. */
function jsonOf(schema: z.ZodType, io: 'input' | 'output'): string {
  const known = converted[io].get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(z.toJSONSchema(schema, { io, override: adjust }))
  const json = text.replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')
  converted[io].set(schema, json)
  return json
}

/**
 * Removes limits that zod adds and we do not guarantee: no additional properties, safe integers, string property names.
 * Removes patterns that few languages understand. Adds the default and the examples of a transformed value, which zod omits.
 */
function adjust({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}) {
  const { def } = zodSchema._zod
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties
  for (const part of [jsonSchema, ...(jsonSchema.allOf ?? [])]) writePortably(part)
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (isDeepStrictEqual(jsonSchema.propertyNames, { type: 'string' })) delete jsonSchema.propertyNames
  if (jsonSchema.$ref !== undefined) return
  if (def.type === 'default') jsonSchema.default ??= def.defaultValue
  const examples = z.globalRegistry.get(zodSchema)?.examples as unknown[] | undefined
  if (examples) jsonSchema.examples ??= examples
}

function writePortably(schema: z.core.JSONSchema.BaseSchema) {
  if (schema.pattern === undefined) return
  const pattern = portablePattern(schema.pattern)
  if (pattern === undefined) delete schema.pattern
  else schema.pattern = pattern
}
