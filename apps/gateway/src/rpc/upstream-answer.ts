import { type RpcRequest } from '@tollgate/protocol'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { type Answer } from './exchange'

/**
 * What an upstream's answer means for the call: `served` it; an `error` that a node reports about the call itself;
 * `refused`, because the provider turned the gateway away before it did anything; or `failed`. Only the first two are
 * answers to the caller. `isTimeout` marks an upstream that gave up waiting for its own node.
 */
export type Verdict = { outcome: 'served' | 'error' | 'refused' } | { outcome: 'failed'; isTimeout: boolean }

/** They concern the gateway's own account with the provider, whatever the body says: providers wrap them in JSON-RPC too. */
const REFUSALS: ReadonlySet<number> = new Set([401, 402, 403, 407, 429])
const TIMEOUTS: ReadonlySet<number> = new Set([408, 504])
/** The statuses of a gRPC gateway for a query that failed in the node; its others say that the node was not reached. */
const GRPC_ERRORS: ReadonlySet<number> = new Set([500, 501])

/** An error is short; a longer body is not read as one. */
const MAX_ERROR_BYTES = 65_536

export async function verdictOf(answer: Answer, transport: RpcRequest['transport']): Promise<Verdict> {
  const { status } = answer
  if (REFUSALS.has(status)) return { outcome: 'refused' }
  if (isRedirect(status)) return { outcome: 'failed', isTimeout: false }
  if (status !== 408 && (status < 500 || status > 599)) return { outcome: 'served' }
  const isTimeout = TIMEOUTS.has(status)
  if (transport === 'rest' && !GRPC_ERRORS.has(status)) return { outcome: 'failed', isTimeout }
  const body = await jsonOf(answer)
  const isNodeError = transport === 'rest' ? isGrpcError(body) : isJsonRpc(body)
  return isNodeError ? { outcome: 'error' } : { outcome: 'failed', isTimeout }
}

/** A 304 leads nowhere else. */
const isRedirect = (status: number) => status >= 300 && status < 400 && status !== 304

const inflaters = { gzip: promisify(gunzip), deflate: promisify(inflate), br: promisify(brotliDecompress) }

/** The body as JSON; undefined where it is too long, or not JSON. */
async function jsonOf({ body, rest, headers }: Answer): Promise<unknown> {
  if (rest || body.length > MAX_ERROR_BYTES) return undefined
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase()
  try {
    const inflated = Object.hasOwn(inflaters, encoding)
      ? await inflaters[encoding as keyof typeof inflaters](body, { maxOutputLength: MAX_ERROR_BYTES })
      : body
    return JSON.parse(inflated.toString())
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A response of JSON-RPC, or a batch of them. Its `id` may be null or the node's own, as for a call it could not read. */
const isJsonRpc = (body: unknown): boolean =>
  Array.isArray(body) ? body.length > 0 && body.every(isJsonRpcResponse) : isJsonRpcResponse(body)

const isJsonRpcResponse = (entry: unknown): boolean =>
  isObject(entry) &&
  typeof entry.jsonrpc === 'string' &&
  ('result' in entry || (isObject(entry.error) && typeof entry.error.code === 'number'))

/** An error of gRPC as its gateway writes it (google.rpc.Status). */
const isGrpcError = (body: unknown): boolean =>
  isObject(body) && Number.isInteger(body.code) && typeof body.message === 'string'
