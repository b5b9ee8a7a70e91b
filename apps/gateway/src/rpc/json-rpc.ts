import { ApiError } from '@tollgate/service'
import { MethodNotServed } from './not-served'
import { isObject, type Entry } from './rpc-methods'

/** The error codes of JSON-RPC 2.0, section 5.1. */
export const jsonRpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  internalError: -32_603,
} as const

type Id = string | number | null
/** The ids to answer: undefined for a notification, a list for a batch, without its notifications. */
export type JsonRpcIds = Id | undefined | readonly Id[]

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

const MAX_ID_LENGTH = 256

/** Of an invalid request null, as JSON-RPC has it: only an object without `id` is a notification. */
export function idsOf(body: unknown): JsonRpcIds {
  if (!Array.isArray(body)) return idOf(body)
  return body.map(idOf).filter((id) => id !== undefined)
}

function idOf(entry: unknown): Id | undefined {
  if (!isObject(entry)) return null
  const { id } = entry
  if (id === undefined) return typeof entry['method'] === 'string' ? undefined : null
  const isValid = typeof id === 'number' || (typeof id === 'string' && id.length <= MAX_ID_LENGTH)
  return isValid ? id : null
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

/** The body of a refusal; undefined if only notifications were sent, which get no answer. */
export function refusalBody(ids: JsonRpcIds, error: JsonRpcError): unknown {
  const answerTo = (id: Id) => ({ jsonrpc: '2.0', id, error })
  if (!Array.isArray(ids)) return ids === undefined ? undefined : answerTo(ids as Id)
  return ids.length === 0 ? undefined : ids.map(answerTo)
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
