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

/** A batch with entries that are no requests: each entry gets an error. */
export class InvalidBatch extends JsonRpcRefusal {
  constructor(readonly entries: readonly unknown[]) {
    super(jsonRpcCodes.invalidRequest, NO_REQUEST, idsOf(entries))
  }
}

const NO_REQUEST = 'Send a JSON-RPC request, an object with `method`, or a batch of them'
const isCall = (entry: unknown): boolean => isObject(entry) && typeof entry['method'] === 'string'

/** @throws JsonRpcRefusal unless the body is a JSON-RPC request or a batch of them */
export function readJsonRpc(body: unknown): Entry | Entry[] {
  const entries: unknown[] = Array.isArray(body) ? body : [body]
  if (entries.length === 0) throw new JsonRpcRefusal(jsonRpcCodes.invalidRequest, 'The batch is empty')
  if (entries.every(isCall)) return body as Entry | Entry[]
  if (Array.isArray(body)) throw new InvalidBatch(entries)
  throw new JsonRpcRefusal(jsonRpcCodes.invalidRequest, NO_REQUEST, idsOf(body))
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

/** The others of a batch are refused for the sake of the entries that are invalid, or name an unserved method. */
export function entryErrorOf(error: unknown, refusal: JsonRpcError, entry: unknown): JsonRpcError {
  if (error instanceof InvalidBatch)
    return isCall(entry)
      ? {
          ...refusal,
          message:
            'The batch was not sent, because another entry is no JSON-RPC request; nothing was charged',
        }
      : refusal
  if (!(error instanceof MethodNotServed) || !isObject(entry)) return refusal
  const method = unservedMethodOf(entry, error.methods)
  return method === undefined
    ? { code: jsonRpcCodes.invalidRequest, message: `The batch was not sent. ${refusal.message}` }
    : { ...refusal, message: notServedMessage(method) }
}
