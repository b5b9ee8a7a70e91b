import {
  errorRefusals,
  gatewayRefusals,
  mediaTypeRefusals,
  nodeErrors,
  nodePages,
  statusRefusals,
  textRefusals,
  type RefusalKind,
} from './provider-refusals'

/** What an upstream answered, decompressed. `body` is undefined if it is too long to be read. */
export type Response = { status: number; mediaType: string; body: string | undefined }

const byStatus = new Map(statusRefusals.map(({ status, kind }) => [status, kind]))
const byMediaType = new Map(mediaTypeRefusals.map(({ mediaType, kind }) => [mediaType, kind]))

export const refusalOfStatus = (status: number): RefusalKind | undefined => byStatus.get(status)

/** Reads a body that is not JSON: a page, or a text of a provider's front. */
export function refusalOfText({ status, mediaType, body }: Response): RefusalKind | undefined {
  if (body !== undefined && nodePages.some((page) => page.test(body))) return undefined
  const known = body === undefined ? undefined : textRefusals.find((row) => row.body.test(body))?.kind
  const text = body !== undefined && body.length <= MAX_TEXT_LENGTH ? refusalOfMessage(body) : undefined
  // A node's server may describe an error in HTML; a page of a front is a whole document.
  const byType = status < 300 ? byMediaType.get(mediaType) : undefined
  if (known ?? text ?? byType) return known ?? text ?? byType
  return status < 300 && isJsonType(mediaType) && body?.trim() ? 'no_answer' : undefined
}

/** Nodes answer errors with these codes in words that repeat the request, or a contract's. */
const CODES_THAT_REPEAT_WORDS: readonly unknown[] = [3, -32_601, -32_602, -32_700, -32_015]

/** Reads the `error` of a JSON-RPC response. */
export function refusalOfError(error: unknown): RefusalKind | undefined {
  if (typeof error === 'string') return refusalOfMessage(error)
  if (!isObject(error)) return undefined
  const { message: given, data } = error
  const code = typeof error.code === 'string' ? Number(error.code) : error.code
  const message = typeof given === 'string' ? given : ''
  if (isNodeError(message) || (typeof data === 'string' && data.startsWith('0x'))) return undefined
  const repeatsWords = CODES_THAT_REPEAT_WORDS.includes(code)
  return errorRefusals.find(
    ({ codes, message: words }) =>
      (codes ? codes.includes(code as number) : !repeatsWords) && (words?.test(message) ?? true),
  )?.kind
}

/** gRPC has the codes 0 to 16; other numbers are a front's own. */
const MAX_GRPC_CODE = 16

/** Reads JSON of a REST API: an error of the gRPC gateway, or of a front before it. */
export function refusalOfRest(body: unknown): RefusalKind | undefined {
  if (!isObject(body)) return undefined
  const { code, message } = body
  if (typeof message === 'string' && typeof code === 'number' && code <= MAX_GRPC_CODE)
    return gatewayRefusals.find((row) => row.message.test(message))?.kind
  return refusalOfBareError(body)
}

/** Reads JSON that is neither a result nor an error of JSON-RPC. */
export function refusalOfBareError(body: unknown): RefusalKind | undefined {
  if (!isObject(body) || !isBareError(body)) return undefined
  const { code, message, error } = body
  return refusalOfError(isObject(error) ? error : { code, message: error ?? message })
}

const MAX_TEXT_LENGTH = 1_024

function refusalOfMessage(message: string): RefusalKind | undefined {
  if (isNodeError(message)) return undefined
  return errorRefusals.find(({ codes, message: words }) => !codes && words?.test(message))?.kind
}

const isNodeError = (message: string) => nodeErrors.some((words) => words.test(message))

const ERROR_MEMBERS =
  /^(error|errors|message|msg|code|status|statusCode|detail|details|type|trace_?id|request_?id|id|success)$/i
const isBareError = (body: Record<string, unknown>) =>
  ('message' in body || 'error' in body) && Object.keys(body).every((name) => ERROR_MEMBERS.test(name))

export const isJsonType = (mediaType: string) => /^application\/([\w.-]+\+)?json$/.test(mediaType)

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
