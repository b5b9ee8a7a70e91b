import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { type JsonSchema } from './document'

export type SharedSchemas = ReturnType<typeof createSharedSchemas>

/** Turns our schemas into JSON Schema; what has an `id` among its metadata is written once, and referred to. */
export function createSharedSchemas() {
  const shared: Record<string, JsonSchema> = {}

  function share(id: string, schema: JsonSchema): JsonSchema {
    const known = shared[id]
    if (known && !isDeepStrictEqual(known, schema))
      throw new Error(`The schema ${id} is not the same everywhere: give one of the two another id`)
    shared[id] = schema
    return { $ref: `#/components/schemas/${id}` }
  }

  return {
    shared,

    /**
     * `input` is what a sender must write, `output` what a reader gets.
     *
     * @throws Error where two schemas share an id and nothing else
     */
    of(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
      const text = JSON.stringify(z.toJSONSchema(schema, { io, override: mended }))
      const { $defs, ...root } = JSON.parse(
        text.replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/'),
      ) as JsonSchema & { $schema?: string; $defs?: Record<string, JsonSchema> }
      delete root.$schema
      for (const [id, part] of Object.entries($defs ?? {})) share(id, part)
      const id = z.globalRegistry.get(schema)?.id
      return id === undefined || root.$ref !== undefined ? root : share(id, root)
    },
  }
}

/**
 * Takes back what zod says of its own accord and we do not mean: that answers never get another member, that a whole number
 * ends where JavaScript's do, and that the names of an object's members are strings. Says what it keeps to itself: the
 * default and the examples of a value that is transformed once it is read.
 */
function mended({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}) {
  const { def } = zodSchema._zod
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (isDeepStrictEqual(jsonSchema.propertyNames, { type: 'string' })) delete jsonSchema.propertyNames
  if (jsonSchema.$ref !== undefined) return
  if (def.type === 'default') jsonSchema.default ??= def.defaultValue
  const examples = z.globalRegistry.get(zodSchema)?.examples as unknown[] | undefined
  if (examples) jsonSchema.examples ??= examples
}
