import { type RpcRequest } from '@tollgate/protocol'
import { type Readable } from 'node:stream'
import { request, type Dispatcher } from 'undici'
import { kindOf, type Kind } from './methods'
import { addressBelow } from './resource'
import { failureOf, type Failure, type Upstreams } from './upstreams'

/** An answer held whole, or, past `MAX_HELD_BYTES`, its beginning and the stream of the rest. */
export type UpstreamAnswer = {
  status: number
  headers: Record<string, string>
  body: Buffer
  rest?: Readable
}

/** What is held in memory of an answer before it is passed on as it comes. */
const MAX_HELD_BYTES = 262_144

/** The headers that come back. All others, cookies and addresses among them, are between the upstream and us. */
const returned = [
  'content-type',
  'content-encoding',
  'content-language',
  'etag',
  'last-modified',
  'grpc-metadata-x-cosmos-block-height',
]

export type Outgoing = {
  call: RpcRequest
  /** The payload as the caller wrote it, to the byte. */
  payloadText: string
  accept: string | undefined
  acceptEncoding: string | undefined
}

export type Forward = ReturnType<typeof createForward>

/**
 * Forwards a call to the first upstream that answers; undefined where none did. Another upstream is tried only where the
 * call provably was not carried out, or does no harm when it is carried out twice. Redirects are answers that are not
 * followed, and count as none.
 */
export function createForward(upstreams: Upstreams, timeoutMs: number) {
  return async (outgoing: Outgoing, baseUrls: readonly string[]): Promise<UpstreamAnswer | undefined> => {
    const kind = kindOf(outgoing.call)
    let last: UpstreamAnswer | undefined
    for (const baseUrl of upstreams.inOrder(baseUrls)) {
      let answer: UpstreamAnswer
      try {
        answer = await ask(outgoing, baseUrl)
      } catch (error) {
        upstreams.failed(baseUrl)
        if (mayTryAgain(kind, failureOf(error))) continue
        return undefined
      }
      last?.rest?.destroy()
      last = answer
      if (isAnswer(answer)) {
        upstreams.succeeded(baseUrl)
        return answer
      }
      upstreams.failed(baseUrl)
      if (kind !== 'read') break
    }
    if (last && !isRedirect(last)) return last
    last?.rest?.destroy()
    return undefined
  }

  async function ask(
    { call, payloadText, accept, acceptEncoding }: Outgoing,
    baseUrl: string,
  ): Promise<UpstreamAnswer> {
    const address = addressBelow(baseUrl, call.resource)
    const headers: Record<string, string> = { accept: accept ?? '*/*', 'user-agent': 'tollgate' }
    if (acceptEncoding !== undefined) headers['accept-encoding'] = acceptEncoding
    if (call.method === 'GET') addQuery(address, call.payload)
    else headers['content-type'] = 'application/json'
    const options: Parameters<typeof request>[1] = {
      dispatcher: upstreams.dispatcher,
      method: call.method,
      headers,
      signal: AbortSignal.timeout(timeoutMs),
      ...(call.method === 'POST' ? { body: payloadText } : {}),
    }
    return readAnswer(await request(address, options))
  }
}

async function readAnswer({
  statusCode,
  headers,
  body,
}: Dispatcher.ResponseData<unknown>): Promise<UpstreamAnswer> {
  const answer = { status: statusCode, headers: pick(headers) }
  const chunks: Buffer[] = []
  let held = 0
  for (;;) {
    const chunk = await nextChunk(body)
    if (chunk === undefined) return { ...answer, body: Buffer.concat(chunks) }
    chunks.push(chunk)
    held += chunk.length
    if (held > MAX_HELD_BYTES) return { ...answer, body: Buffer.concat(chunks), rest: body }
  }
}

/** The next chunk of a stream without taking the stream over; undefined at its end. */
function nextChunk(body: Readable): Promise<Buffer | undefined> {
  const ready = body.read() as Buffer | null
  if (ready !== null) return Promise.resolve(ready)
  if (body.readableEnded) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => () => {
      body.off('readable', onReadable).off('end', onEnd).off('error', onError).off('close', onClose)
      act()
    }
    const onReadable = settle(() => resolve(nextChunk(body)))
    const onEnd = settle(() => resolve(undefined))
    const onError = (error: Error) => settle(() => reject(error))()
    const onClose = settle(() => reject(new Error('The upstream closed the connection within its answer')))
    body.on('readable', onReadable).on('end', onEnd).on('error', onError).on('close', onClose)
  })
}

const isRedirect = ({ status }: UpstreamAnswer) => status >= 300 && status < 400
const isAnswer = (answer: UpstreamAnswer) =>
  !isRedirect(answer) && answer.status !== 429 && answer.status < 500

const mayTryAgain = (kind: Kind, failure: Failure) =>
  failure === 'unsent' || kind === 'read' || (kind === 'idempotent' && failure === 'reset')

function addQuery(address: URL, payload: RpcRequest['payload']) {
  for (const [name, value] of Object.entries(Array.isArray(payload) ? {} : payload))
    address.searchParams.append(name, typeof value === 'string' ? value : JSON.stringify(value))
}

function pick(headers: Dispatcher.ResponseData<unknown>['headers']): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of returned) {
    const value = headers[name]
    if (typeof value === 'string') kept[name] = value
  }
  return kept
}
