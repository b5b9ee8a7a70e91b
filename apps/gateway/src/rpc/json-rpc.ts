import { ApiError } from '@tollgate/service'
import { idsOf, idTextsOf, type JsonRpcIds } from './json-rpc-ids'
import { MethodNotServed, notServedMessage, unservedMethodOf } from './not-served'
import { isObject, type Entry } from './rpc-methods'

/** The error codes of JSON-RPC 2.0, section 5.1. */
export const jsonRpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  internalError: -32_603,
} as const

export type JsonRpcError = { code: number; message: string }

export class JsonRpcRefusal extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly ids: JsonRpcIds = null,
  ) {
    super(message)
  }
}

/** @throws JsonRpcRefusal unless the body is a JSON-RPC request or a batch of them */
export function readJsonRpc(body: unknown): Entry | Entry[] {
  const entries: unknown[] = Array.isArray(body) ? body : [body]
  const isCall = (entry: unknown) => isObject(entry) && typeof entry['method'] === 'string'
  if (entries.length > 0 && entries.every(isCall)) return body as Entry | Entry[]
  const message =
    entries.length === 0
      ? 'The batch is empty'
      : 'Send a JSON-RPC request, an object with `method`, or a batch of them'
  throw new JsonRpcRefusal(jsonRpcCodes.invalidRequest, message, Array.isArray(body) ? null : idsOf(body))
}

/**
 * The body of a refusal, as JSON; undefined if only notifications were sent, which get no answer. `errorOf` is asked for the error
 * of each entry of a batch, `text` has the ids as they were sent.
 */
export function refusalBody(
  ids: JsonRpcIds,
  text: string,
  errorOf: (index: number) => JsonRpcError,
): string | undefined {
  const answers = idTextsOf(ids, text).flatMap((id, index) =>
    id === undefined ? [] : [`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(errorOf(index))}}`],
  )
  if (answers.length === 0) return undefined
  return Array.isArray(ids) ? `[${answers.join()}]` : answers[0]
}

/** The errors that JSON-RPC has a code for; others keep their HTTP status. */
export function jsonRpcErrorOf(error: unknown): JsonRpcError | undefined {
  if (error instanceof JsonRpcRefusal) return { code: error.code, message: error.message }
  if (!(error instanceof ApiError)) return undefined
  const { message } = error
  if (error instanceof MethodNotServed) return { code: jsonRpcCodes.methodNotFound, message }
  if (error.code === 'INVALID_REQUEST') return { code: jsonRpcCodes.invalidRequest, message }
  if (error.code === 'UPSTREAM_FAILED') return { code: jsonRpcCodes.internalError, message }
  return undefined
}

/** The others of a batch are refused for the sake of the entries that name an unserved method. */
export function entryErrorOf(error: unknown, refusal: JsonRpcError, entry: unknown): JsonRpcError {
  if (!(error instanceof MethodNotServed) || !isObject(entry)) return refusal
  const method = unservedMethodOf(entry, error.methods)
  return method === undefined
    ? { code: jsonRpcCodes.invalidRequest, message: `The batch was not sent. ${refusal.message}` }
    : { ...refusal, message: notServedMessage(method) }
}
