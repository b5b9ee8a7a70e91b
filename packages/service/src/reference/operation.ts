import { z } from 'zod'
import { statusOf, type ErrorCode } from '../errors'

export type Examples = Record<string, unknown>

export type HeaderDescription = { description: string; schema: z.ZodType }

type OperationAnswer = {
  description: string
  /** Without a schema the body may be anything. */
  schema?: z.ZodType
  contentType?: string
  headers?: Record<string, HeaderDescription>
  examples?: Examples
}

/** One endpoint. Its handler parses the input with the same schemas. */
export type Operation = {
  id: string
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Parameters are in braces: `/pricing/{id}`. */
  path: string
  tag: string
  summary: string
  description?: string
  /** The caller must satisfy one entry. An entry that is a list requires all of its schemes. Without `auth` the endpoint is public. */
  auth?: readonly (string | readonly string[])[]
  pathParameters?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: { schema: z.ZodType; examples?: Examples }
  /** Headers that any response of this operation may have, including errors. */
  answerHeaders?: Record<string, HeaderDescription>
  answers: Record<string, OperationAnswer>
  /** Codes that are specific to this operation, with their meaning. */
  errors?: Partial<Record<ErrorCode, string>>
}

const codes = Object.keys(statusOf) as [ErrorCode, ...ErrorCode[]]

export const ErrorAnswer = z
  .object({
    code: z.enum(codes).describe('A stable error code.'),
    message: z.string().describe('The error and the next step, for display.'),
    details: z.string().optional().describe('Further details, if any.'),
  })
  .meta({ id: 'Error', description: 'A refusal. Its `code` is stable; its `message` may be reworded.' })

export const everywhere = {
  INVALID_REQUEST: 'The request, its headers or its body do not match this description.',
  REQUEST_TIMEOUT: 'The request took too long to arrive.',
  PAYLOAD_TOO_LARGE: 'The body is larger than this service takes.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not UTF-8, or is compressed.',
  EXPECTATION_FAILED: 'The service does not support the `Expect` header of the request.',
  UPGRADE_REQUIRED: 'The request is a handshake of another protocol, such as WebSocket.',
  OVERLOADED: 'The service is reading too many bodies; try again after `Retry-After`.',
  HEADERS_TOO_LARGE: 'The headers are larger than the service takes.',
  INTERNAL_ERROR: 'The service failed.',
  UNAVAILABLE: 'A dependency of the service is unavailable; try again after `Retry-After`.',
} satisfies Partial<Record<ErrorCode, string>>
