import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import { statusOf, type ErrorCode } from '../errors'
import { challengedCodes } from '../http/errors'
import {
  type ExampleObject,
  type HeaderObject,
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
  type Reference,
  type ResponseObject,
  type SecuritySchemeObject,
  type TagObject,
} from './document'
import { challenges, commonHeaders } from './headers'
import { ErrorAnswer, everywhere, type Examples, type HeaderDescription, type Operation } from './operation'
import { createSharedSchemas, type SharedSchemas } from './schemas'

const LICENSE = { name: 'Apache License 2.0', identifier: 'Apache-2.0' }

export type ReferenceInfo = {
  title: string
  version: string
  summary: string
  description: string
  url: string
  tags: readonly TagObject[]
  securitySchemes: Record<string, SecuritySchemeObject>
}

/**
 * The OpenAPI 3.1 document of a service.
 *
 * @throws Error if an operation appears twice, two schemas share an id, or a response, a body or a required parameter has
 *   no example
 */
export function createOpenApi(info: ReferenceInfo, operations: readonly Operation[]): OpenApiDocument {
  const shared: Shared = {
    schemas: createSharedSchemas(),
    headers: {},
    responses: {},
    challenged: challenges(Object.values(info.securitySchemes).some(({ type }) => type === 'apiKey')),
  }
  const paths: OpenApiDocument['paths'] = {}
  for (const operation of operations) {
    const methods = (paths[operation.path] ??= {})
    if (methods[operation.method]) throw new Error(`${nameOf(operation)} is described twice`)
    methods[operation.method] = operationObject(operation, shared)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: info.title,
      version: info.version,
      summary: info.summary,
      description: info.description,
      license: LICENSE,
    },
    servers: [{ url: info.url }],
    tags: [...info.tags],
    paths,
    components: {
      schemas: shared.schemas.shared,
      responses: shared.responses,
      headers: shared.headers,
      securitySchemes: info.securitySchemes,
    },
  }
}

type Shared = {
  schemas: SharedSchemas
  headers: Record<string, HeaderObject>
  responses: Record<string, ResponseObject>
  challenged: Record<string, HeaderDescription>
}

const nameOf = ({ method, path }: Operation) => `${method.toUpperCase()} ${path}`

function operationObject(operation: Operation, shared: Shared): OperationObject {
  const { id, tag, summary, description, auth, body } = operation
  const parameters = parametersOf(operation, shared.schemas)
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: (auth ?? []).map(securityOf),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: shared.schemas.of(body.schema, 'input'),
                examples: examplesOf(nameOf(operation), body),
              },
            },
          },
        }),
    responses: responsesOf(operation, shared),
  }
}

const securityOf = (schemes: string | readonly string[]) =>
  Object.fromEntries([schemes].flat().map((scheme): [string, string[]] => [scheme, []]))

function parametersOf(operation: Operation, schemas: SharedSchemas): ParameterObject[] {
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  if (inPath.join() !== Object.keys(operation.pathParameters?.shape ?? {}).join())
    throw new Error(`${nameOf(operation)} describes other parameters than its path has`)
  const places = [
    ['path', operation.pathParameters],
    ['query', operation.query],
    ['header', operation.headers],
  ] as const
  return places.flatMap(([place, object]) => {
    if (object === undefined) return []
    const { properties = {}, required = [] } = schemas.of(object, 'input')
    return Object.entries(properties).map(([name, { description, examples, ...schema }]) => {
      const isRequired = place === 'path' || required.includes(name)
      if (isRequired && examples === undefined)
        throw new Error(`${nameOf(operation)} has no example of ${name}`)
      return {
        name,
        in: place,
        required: isRequired,
        ...(description === undefined ? {} : { description }),
        schema,
        ...(examples === undefined ? {} : { example: examples[0] }),
      }
    })
  })
}

function responsesOf(operation: Operation, shared: Shared): OperationObject['responses'] {
  const { answers, errors = {} } = operation
  const responses: OperationObject['responses'] = {}
  const usual = {
    ...commonHeaders.always,
    ...(errors.RATE_LIMITED === undefined ? {} : commonHeaders.limited),
    ...operation.answerHeaders,
  }

  for (const [status, answer] of Object.entries(answers)) {
    const { description, schema, contentType = 'application/json', headers } = answer
    const examples = examplesOf(`${nameOf(operation)}, ${status}`, answer)
    responses[status] = {
      description,
      headers: referToHeaders({ ...usual, ...headers }, shared),
      content: { [contentType]: { schema: schema ? shared.schemas.of(schema, 'output') : {}, examples } },
    }
  }
  for (const [status, codes] of byStatus({ ...everywhere, ...errors })) {
    if (responses[status]) throw new Error(`${nameOf(operation)} has both an answer and errors of ${status}`)
    const hasRetryAfter = status === '429' || status === '503'
    const refusedHeaders = {
      ...(hasRetryAfter ? commonHeaders.refused : {}),
      ...(codes.some(([code]) => challengedCodes.includes(code)) ? shared.challenged : {}),
    }
    if (codes.some(([code]) => errors[code] !== undefined)) {
      const headers = referToHeaders({ ...usual, ...refusedHeaders }, shared)
      responses[status] = errorResponse(codes, headers, shared.schemas)
    } else {
      const name = (STATUS_CODES[status] ?? status).replace(/[^A-Za-z]/g, '')
      const headers = referToHeaders(
        { ...commonHeaders.always, ...commonHeaders.limited, ...refusedHeaders },
        shared,
      )
      shared.responses[name] ??= errorResponse(codes, headers, shared.schemas)
      responses[status] = { $ref: `#/components/responses/${name}` }
    }
  }
  return responses
}

type Meanings = [ErrorCode, string][]

function byStatus(errors: Partial<Record<ErrorCode, string>>): Map<string, Meanings> {
  const found = new Map<string, Meanings>()
  for (const [code, meaning] of Object.entries(errors) as Meanings) {
    const status = String(statusOf[code])
    found.set(status, [...(found.get(status) ?? []), [code, meaning]])
  }
  return new Map([...found].sort(([one], [other]) => Number(one) - Number(other)))
}

function errorResponse(
  codes: Meanings,
  headers: ResponseObject['headers'],
  schemas: SharedSchemas,
): ResponseObject {
  const code = { type: 'string', enum: codes.map(([name]) => name) }
  return {
    description: codes.map(([code, meaning]) => `\`${code}\`: ${meaning}`).join('\n\n'),
    ...(headers === undefined ? {} : { headers }),
    content: {
      'application/json': {
        schema: { allOf: [schemas.of(ErrorAnswer, 'output'), { properties: { code } }] },
        examples: Object.fromEntries(
          codes.map(([code, message]): [string, ExampleObject] => [code, { value: { code, message } }]),
        ),
      },
    },
  }
}

function referToHeaders(
  described: Record<string, HeaderDescription>,
  { schemas, headers }: Shared,
): Record<string, Reference> {
  return Object.fromEntries(
    Object.entries(described).map(([name, { description, schema }]) => {
      const { examples, ...written } = schemas.of(schema, 'output')
      headers[name] ??= { description, schema: examples === undefined ? written : { ...written, examples } }
      return [name, { $ref: `#/components/headers/${name}` }]
    }),
  )
}

function examplesOf(
  where: string,
  { schema, examples }: { schema?: z.ZodType; examples?: Examples },
): Record<string, ExampleObject> {
  const own = schema && (z.globalRegistry.get(schema)?.examples as unknown[] | undefined)
  const found =
    examples ?? Object.fromEntries((own ?? []).map((value, index) => [`example${index + 1}`, value]))
  if (Object.keys(found).length === 0) throw new Error(`${where} has no example`)
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, { value }]))
}
