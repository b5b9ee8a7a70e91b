import { storableObject } from '@tollgate/protocol'
import { z } from 'zod'
import { isRouteTemplate } from './catalog-url'
import { hasExternalReference, matchesSchema } from './matches-schema'
import { visibleObject, visibleText } from './visible-text'

const MAX_DECLARED_BYTES = 8_192
const MAX_DECLARED_DEPTH = 16

const Declared = storableObject(MAX_DECLARED_BYTES, MAX_DECLARED_DEPTH).transform(visibleObject)
const record = z.record(z.string(), z.unknown())
const bodyMethods = ['POST', 'PUT', 'PATCH'] as const
const Method = z.enum(['GET', 'HEAD', 'DELETE', ...bodyMethods])
const hasBody = (method: string | undefined) => bodyMethods.some((one) => one === method)

const HttpInput = z
  .looseObject({
    type: z.literal('http'),
    method: Method.optional(),
    bodyType: z.enum(['json', 'form-data', 'text']).optional(),
  })
  .refine(
    ({ method, bodyType }) => method === undefined || hasBody(method) === (bodyType !== undefined),
    'bodyType belongs to POST, PUT and PATCH',
  )
const McpInput = z.looseObject({
  type: z.literal('mcp'),
  toolName: z.string().regex(/^[\x20-\x7e]{1,128}$/),
  inputSchema: record,
  transport: z.enum(['streamable-http', 'sse']).optional(),
})

/** Members of the extension `bazaar` beside these are not kept. */
const Bazaar = z
  .object({
    info: z.looseObject({
      input: z.discriminatedUnion('type', [HttpInput, McpInput]),
      output: record.optional(),
    }),
    schema: z.looseObject({ properties: z.looseObject({ input: record }) }),
    routeTemplate: z
      .unknown()
      .transform((value) => (isRouteTemplate(value) ? value : undefined))
      .optional(),
  })
  .refine(({ schema }) => !hasExternalReference(schema), 'schema refers to another document')
  .refine(({ info, schema }) => matchesSchema(info, schema), 'info does not satisfy schema')

const Text = (max: number) => z.string().max(max).transform(visibleText).nullish().catch(undefined)
const texts = { description: Text(4_096), mimeType: Text(256) }
const Resource = z.looseObject({ url: z.string(), ...texts })

/** How a payment describes the resource that it paid for. Not checked against the resource itself. */
type Declaration = {
  url: string
  routeTemplate?: string | undefined
  type: 'http' | 'mcp'
  operation: string
  description?: string | null | undefined
  mimeType?: string | null | undefined
  /** What may contain the name, tags and icon of the service. */
  service: Record<string, unknown>
  declared: Record<string, unknown>
}

/** `problem` says why a declaration cannot be cataloged. */
export type DeclarationResult = Declaration | { problem: string } | undefined

/** Whose clients find it. */
export type VersionedDeclaration = { x402Version: 1 | 2; declaration: DeclarationResult }

const BodyV2 = z.object({
  paymentPayload: z.object({
    resource: z.unknown().optional(),
    extensions: z.object({ bazaar: z.unknown() }),
  }),
})

export const readDeclarationsV2 = (body: unknown): VersionedDeclaration[] => [
  { x402Version: 2, declaration: readDeclarationV2(body) },
]

/** Undefined if the payment has no extension `bazaar`. */
export function readDeclarationV2(body: unknown): DeclarationResult {
  const { data } = BodyV2.safeParse(body)
  const { resource, extensions } = data?.paymentPayload ?? {}
  if (extensions?.bazaar === undefined || extensions.bazaar === null) return undefined
  const of = Resource.safeParse(resource)
  if (!of.success) return { problem: 'the payment names no resource' }
  const bounded = Declared.safeParse(extensions.bazaar)
  if (!bounded.success) return problemOf(bounded.error)
  const bazaar = Bazaar.safeParse(bounded.data)
  if (!bazaar.success) return problemOf(bazaar.error)
  const { info, routeTemplate } = bazaar.data
  const { url, description, mimeType } = of.data
  const { input } = info
  return {
    url,
    routeTemplate,
    type: input.type,
    operation: input.type === 'mcp' ? input.toolName : (input.method ?? ''),
    description,
    mimeType,
    service: of.data,
    declared: bazaar.data,
  }
}

const BodyV1 = z.object({
  paymentRequirements: z.object({
    resource: z.string(),
    ...texts,
    outputSchema: z.looseObject({
      input: z.looseObject({
        type: z.literal('http'),
        method: z
          .string()
          .transform((method) => method.toUpperCase())
          .pipe(Method),
        discoverable: z.boolean().optional(),
      }),
    }),
  }),
})

const BodyOfBoth = z.object({
  paymentRequirements: z.looseObject({ resource: z.string() }),
  extensions: z.object({ bazaar: z.unknown() }),
})

/** A resource that takes both versions declares itself for clients of version 2 in `extensions` of the request. */
export function readDeclarationsV1(body: unknown): VersionedDeclaration[] {
  const first = { x402Version: 1, declaration: readDeclarationV1(body) } as const
  const { data } = BodyOfBoth.safeParse(body)
  if (!data) return [first]
  const { extensions, paymentRequirements } = data
  const { resource: url, description, mimeType } = paymentRequirements
  const paymentPayload = { resource: { url, description, mimeType }, extensions }
  return [first, { x402Version: 2, declaration: readDeclarationV2({ paymentPayload }) }]
}

/** Version 1 has no extensions: `outputSchema` says how to call the resource, and whether it may be listed. */
export function readDeclarationV1(body: unknown): DeclarationResult {
  const { data } = BodyV1.safeParse(body)
  if (!data || data.paymentRequirements.outputSchema.input.discoverable === false) return undefined
  const { resource, description, mimeType, outputSchema } = data.paymentRequirements
  const declared = Declared.safeParse(outputSchema)
  if (!declared.success) return problemOf(declared.error)
  const operation = outputSchema.input.method
  return {
    url: resource,
    type: 'http',
    operation,
    description,
    mimeType,
    service: {},
    declared: declared.data,
  }
}

function problemOf({ issues }: z.ZodError): { problem: string } {
  const [issue] = issues
  return { problem: `bazaar ${(issue?.path ?? []).join('.')}: ${issue?.message ?? 'is not valid'}` }
}
