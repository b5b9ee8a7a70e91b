import { type RpcRequest } from '@tollgate/protocol'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { type Answer } from './upstream-exchange'

/**
 * `error`: a node reports an error of the call. `refused`: the provider refused the gateway and executed nothing. Only an
 * answer that is served and an `error` reach the caller. `isTimeout`: the upstream timed out waiting for its own node.
 */
export type ResponseClass = { outcome: 'error' | 'refused' } | { outcome: 'failed'; isTimeout: boolean }

/** These concern the gateway's account at the provider, even with a JSON-RPC body. */
const REFUSALS: ReadonlySet<number> = new Set([401, 402, 403, 407, 429])
const TIMEOUTS: ReadonlySet<number> = new Set([408, 504])
/** Statuses of a gRPC gateway for a query that failed in the node; its others mean that it did not reach the node. */
const GRPC_ERRORS: ReadonlySet<number> = new Set([500, 501])

const MAX_ERROR_BYTES = 65_536

/** The upstream executed the call, whatever it answers. */
export const isServed = (status: number) =>
  status !== 408 && (status < 500 || status > 599) && !REFUSALS.has(status) && !isRedirect(status)

/** Of an answer that is not served. */
export async function classifyFailure(
  answer: Answer,
  transport: RpcRequest['transport'],
): Promise<ResponseClass> {
  const { status } = answer
  if (REFUSALS.has(status)) return { outcome: 'refused' }
  if (isRedirect(status)) return { outcome: 'failed', isTimeout: false }
  const isTimeout = TIMEOUTS.has(status)
  if (transport === 'rest' && !GRPC_ERRORS.has(status)) return { outcome: 'failed', isTimeout }
  const body = await parseBody(answer)
  const isNodeError = transport === 'rest' ? isGrpcError(body) : isJsonRpc(body)
  return isNodeError ? { outcome: 'error' } : { outcome: 'failed', isTimeout }
}

const isRedirect = (status: number) => status >= 300 && status < 400 && status !== 304

const decompressors = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

async function parseBody({ body, rest, headers }: Answer): Promise<unknown> {
  if (rest || body.length > MAX_ERROR_BYTES) return undefined
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase()
  try {
    const decompressed = Object.hasOwn(decompressors, encoding)
      ? await decompressors[encoding as keyof typeof decompressors](body, {
          maxOutputLength: MAX_ERROR_BYTES,
        })
      : body
    return JSON.parse(decompressed.toString())
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The `id` may be null or the node's own, as for a call that it could not parse. */
const isJsonRpc = (body: unknown): boolean =>
  Array.isArray(body) ? body.length > 0 && body.every(isJsonRpcResponse) : isJsonRpcResponse(body)

const isJsonRpcResponse = (entry: unknown): boolean =>
  isObject(entry) &&
  typeof entry.jsonrpc === 'string' &&
  ('result' in entry || (isObject(entry.error) && typeof entry.error.code === 'number'))

const isGrpcError = (body: unknown): boolean =>
  isObject(body) && Number.isInteger(body.code) && typeof body.message === 'string'
