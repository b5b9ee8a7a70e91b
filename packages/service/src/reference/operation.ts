import { z } from 'zod'
import { statusOf, type ErrorCode } from '../errors'

/** An example by its name, as it stands on the wire. */
export type Examples = Record<string, unknown>

export type HeaderDescription = { description: string; schema: z.ZodType }

/** What an operation answers with one status when it does not refuse. */
export type OperationAnswer = {
  description: string
  /** Without one the body is of any kind. */
  schema?: z.ZodType
  /** `application/json` where nothing is said. */
  contentType?: string
  headers?: Record<string, HeaderDescription>
  /** Those of the schema where none are given. */
  examples?: Examples
}

/** One row of a service's HTTP surface, as data. The schemas are those that its handler parses with. */
export type Operation = {
  id: string
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With parameters in braces: `/pricing/{id}`. */
  path: string
  tag: string
  summary: string
  description?: string
  /** The security schemes of which one must be satisfied, or all of a list of them; without any it is open to all. */
  auth?: readonly (string | readonly string[])[]
  pathParameters?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: { schema: z.ZodType; examples?: Examples }
  /** That any answer of it may have, refusals among them, beside those of every operation. */
  answerHeaders?: Record<string, HeaderDescription>
  /** By status, or `default`. */
  answers: Record<string, OperationAnswer>
  /** The codes it may refuse with, beside those of every operation, and what each means here. */
  errors?: Partial<Record<ErrorCode, string>>
}

const codes = Object.keys(statusOf) as [ErrorCode, ...ErrorCode[]]

/** The body of every refusal but those that an interface writes differently. */
export const ErrorAnswer = z
  .object({
    code: z.enum(codes).describe('What went wrong, for programs.'),
    message: z.string().describe('What went wrong and what to do next, for people.'),
    details: z.string().optional().describe('More about it, where there is more to say.'),
  })
  .meta({ id: 'Error', description: 'A refusal. Its `code` is stable; its `message` may be reworded.' })

/** What may become of any request, whatever it asks for. */
export const everywhere = {
  INVALID_REQUEST: 'The request, its headers or its body are not what is described here.',
  REQUEST_TIMEOUT: 'The request took too long to arrive.',
  PAYLOAD_TOO_LARGE: 'The body is larger than this service takes.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not UTF-8, or is compressed.',
  EXPECTATION_FAILED: 'The request expects something of us that we do not do.',
  OVERLOADED: 'Too many bodies are being read just now; try again after `Retry-After`.',
  HEADERS_TOO_LARGE: 'The headers are larger than 16 KiB.',
  INTERNAL_ERROR: 'Something failed on our side.',
  UNAVAILABLE: 'A part of the service gives no answer just now; try again after `Retry-After`.',
} satisfies Partial<Record<ErrorCode, string>>
