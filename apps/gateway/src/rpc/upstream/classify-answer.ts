import {
  isJsonType,
  isObject,
  refusalOfBareError,
  refusalOfError,
  refusalOfRest,
  refusalOfStatus,
  refusalOfText,
} from './find-refusal'
import { parseJson } from './parse-json'
import { type RefusalKind } from './provider-refusals'
import { isCompressed, mediaTypeOf, readBody, readShortBody } from './read-body'
import { type Answer } from './upstream-exchange'
import { type UpstreamRequest } from './upstream-request'

/** The responses to a batch of which not every one is a result. `refused`: why no node gave some, by their places. */
export type BatchResponses = {
  text: string
  responses: readonly unknown[]
  refused: ReadonlyMap<number, RefusalKind>
}

/**
 * `error`: a node reports an error of the call. `refused`: a provider refused the call or a part of it, and executed nothing of
 * that. Only an answer that is served, an `error` and the rest of a batch reach the caller. `isTimeout`: the upstream timed out
 * waiting for its own node.
 */
export type ResponseClass =
  | { outcome: 'served'; batch?: BatchResponses }
  | { outcome: 'error' }
  | { outcome: 'refused'; refusal: RefusalKind; batch?: BatchResponses }
  | { outcome: 'failed'; isTimeout: boolean }

type Request = Pick<UpstreamRequest, 'transport' | 'payload'>

const SERVED: ResponseClass = { outcome: 'served' }
const refused = (refusal: RefusalKind): ResponseClass => ({ outcome: 'refused', refusal })

/** A longer answer to one call is not parsed: an error is far shorter. */
const MAX_BYTES = 16_384
/** The answer to a batch has a response for each entry. */
const MAX_BATCH_BYTES = 262_144
const MAX_ERROR_BYTES = 65_536

const TIMEOUTS: ReadonlySet<number> = new Set([408, 504])
/** Statuses of a gRPC gateway for a query that failed in the node; its others mean that it did not reach the node. */
const GRPC_ERRORS: ReadonlySet<number> = new Set([500, 501])

const isRedirect = (status: number) => status >= 300 && status < 400 && status !== 304
const isFailure = (status: number) => status === 408 || (status >= 500 && status <= 599)

/** Returns at once for most answers, which are not parsed. */
export function classifyAnswer(answer: Answer, request: Request): ResponseClass | Promise<ResponseClass> {
  const { status } = answer
  const ofStatus = refusalOfStatus(status)
  if (ofStatus) return refused(ofStatus)
  if (isRedirect(status)) return { outcome: 'failed', isTimeout: false }
  if (isFailure(status)) return classifyFailure(answer, request)
  if (answer.rest) return classifyText(answer, undefined)
  if (answer.body.length === 0) return SERVED
  const hasMany = request.transport === 'rpc' && isBatch(request.payload)
  const maxBytes = hasMany ? MAX_BATCH_BYTES : MAX_BYTES
  if (isCompressed(answer) && (hasMany || !isJsonType(mediaTypeOf(answer))))
    return readBody(answer, maxBytes).then((content) => classifyContent(answer, request, content))
  return classifyContent(answer, request, readShortBody(answer, maxBytes))
}

function classifyContent(
  answer: Answer,
  { transport, payload }: Request,
  content: Buffer | undefined,
): ResponseClass {
  if (content === undefined) return classifyText(answer, content)
  const first = firstByteOf(content)
  const mayBeJson = first === BRACE || first === BRACKET
  if (mayBeJson && !content.includes('"error"') && !mayBeBareError(content)) return SERVED
  const text = content.toString()
  const body = parseJson(text)
  if (body === undefined) return classifyText(answer, text)
  if (transport === 'rest') {
    const refusal = refusalOfRest(body)
    return refusal ? refused(refusal) : SERVED
  }
  if (Array.isArray(body)) return classifyResponses(body, text)
  const refusal = refusalOfResponse(body) ?? refusalOfBareError(body)
  if (refusal) return refused(refusal)
  return isBatch(payload)
    ? { outcome: 'served', batch: { text: `[${text}]`, responses: [body], refused: new Map() } }
    : SERVED
}

function classifyText(answer: Answer, body: string | undefined): ResponseClass {
  const refusal = refusalOfText({ status: answer.status, mediaType: mediaTypeOf(answer), body })
  return refusal ? refused(refusal) : SERVED
}

function classifyResponses(body: readonly unknown[], text: string): ResponseClass {
  const refusals = body.map(refusalOfResponse)
  const [first, ...others] = refusals.filter((refusal) => refusal !== undefined)
  const batch = {
    text,
    responses: body,
    refused: new Map(refusals.flatMap((refusal, index) => (refusal ? [[index, refusal] as const] : []))),
  }
  if (first === undefined) return { outcome: 'served', batch }
  return others.length + 1 === body.length ? refused(first) : { outcome: 'refused', refusal: first, batch }
}

const hasResult = (entry: Record<string, unknown>) =>
  'result' in entry && (entry.result !== null || !entry.error)

const refusalOfResponse = (entry: unknown): RefusalKind | undefined =>
  isObject(entry) && !hasResult(entry) && 'error' in entry ? refusalOfError(entry.error) : undefined

async function classifyFailure(answer: Answer, { transport }: Request): Promise<ResponseClass> {
  const { status } = answer
  const isTimeout = TIMEOUTS.has(status)
  const text = (await readBody(answer, MAX_ERROR_BYTES))?.toString()
  const body = text === undefined ? undefined : parseJson(text)
  if (transport === 'rest') {
    const refusal = body === undefined ? undefined : refusalOfRest(body)
    if (refusal) return refused(refusal)
    return GRPC_ERRORS.has(status) && isGrpcError(body)
      ? { outcome: 'error' }
      : { outcome: 'failed', isTimeout }
  }
  if (!isJsonRpc(body)) return { outcome: 'failed', isTimeout }
  const responses: unknown[] = Array.isArray(body) ? body : [body]
  const refusals = responses.map(refusalOfResponse)
  const [first] = refusals
  return first && refusals.every(Boolean) ? refused(first) : { outcome: 'error' }
}

const BRACE = '{'.charCodeAt(0)
const BRACKET = '['.charCodeAt(0)
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d])

function firstByteOf(content: Buffer): number | undefined {
  let at = 0
  while (SPACES.has(content[at])) at++
  return content[at]
}

const isBatch = (payload: Buffer) => firstByteOf(payload) === BRACKET

const MAX_BARE_ERROR_BYTES = 2_048

const mayBeBareError = (content: Buffer) =>
  content.length <= MAX_BARE_ERROR_BYTES && content.includes('"message"')

/** The `id` may be null or the node's own, as for a call that it could not parse. */
const isJsonRpc = (body: unknown): boolean =>
  Array.isArray(body) ? body.length > 0 && body.every(isJsonRpcResponse) : isJsonRpcResponse(body)

const isJsonRpcResponse = (entry: unknown): boolean =>
  isObject(entry) &&
  typeof entry.jsonrpc === 'string' &&
  ('result' in entry || (isObject(entry.error) && typeof entry.error.code === 'number'))

const isGrpcError = (body: unknown): boolean =>
  isObject(body) && Number.isInteger(body.code) && typeof body.message === 'string'
