/** The parts of OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1) that we use. A schema is JSON Schema 2020-12. */
export type JsonSchema = {
  $ref?: string
  type?: string | string[]
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minItems?: number
  maxItems?: number
  required?: string[]
  properties?: Record<string, JsonSchema>
  propertyNames?: JsonSchema
  additionalProperties?: JsonSchema | boolean
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  not?: JsonSchema
}

export type ExampleObject = { summary?: string; value: unknown }
type MediaTypeObject = { schema: JsonSchema; examples?: Record<string, ExampleObject> }
export type HeaderObject = { description: string; schema: JsonSchema }
export type Reference = { $ref: string }

export type ParameterObject = {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: JsonSchema
  example?: unknown
}

export type ResponseObject = {
  description: string
  headers?: Record<string, Reference>
  content?: Record<string, MediaTypeObject>
}

export type OperationObject = {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  /** The caller must satisfy one entry; empty if the operation needs no credentials. */
  security: Record<string, string[]>[]
  parameters?: ParameterObject[]
  requestBody?: { required: boolean; content: Record<string, MediaTypeObject> }
  responses: Record<string, ResponseObject | Reference>
}

export type SecuritySchemeObject =
  | { type: 'http'; scheme: 'bearer'; bearerFormat?: string; description: string }
  | { type: 'apiKey'; in: 'header'; name: string; description: string }

export type TagObject = { name: string; description: string }

export type OpenApiDocument = {
  openapi: '3.1.0'
  info: {
    title: string
    version: string
    summary: string
    description: string
    license: { name: string; identifier: string }
  }
  servers: { url: string }[]
  tags: TagObject[]
  paths: Record<string, Record<string, OperationObject>>
  components: {
    schemas: Record<string, JsonSchema>
    responses: Record<string, ResponseObject>
    headers: Record<string, HeaderObject>
    securitySchemes: Record<string, SecuritySchemeObject>
  }
}

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1)

export const responseAt = (
  { components }: OpenApiDocument,
  response: ResponseObject | Reference | undefined,
): ResponseObject | undefined =>
  response && '$ref' in response ? components.responses[nameOf(response.$ref)] : response

export type DescribedOperation = { method: string; path: string; operation: OperationObject }

export const operationsOf = (document: OpenApiDocument): DescribedOperation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
