import { withTimeout } from '@tollgate/protocol'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { endpointName } from './endpoint-name'

/** By position, or by name. */
type Params = readonly unknown[] | Readonly<Record<string, unknown>>

export type RpcRequest = { method: string; params: Params }

const RpcResponse = z.object({
  id: z.number().nullish(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).nullish(),
})
export type RpcResponse = z.infer<typeof RpcResponse>
export type RpcErrorObject = NonNullable<RpcResponse['error']>

/** How an endpoint proves that it belongs to the configured network. */
export type Identity = {
  request: RpcRequest
  /** Why the endpoint is not used (a clause whose subject is the endpoint), or undefined. */
  problem(result: unknown): string | undefined
}

/** The conventions of the nodes of one chain family. */
export type NodeProtocol = {
  identity: Identity
  /** `read` returns undefined if the result holds no height. */
  height: { request: RpcRequest; read(result: unknown): bigint | undefined }
  /** Maximum requests in one HTTP request. */
  maxBatch: number
  /** Whether the error means that the endpoint does not support the request at all. */
  lacksMethod(error: RpcErrorObject): boolean
  errorMessage(error: RpcErrorObject): string
}

/** Why an endpoint gave no response. Never contains its URL, which may hold a key. */
export class EndpointFailure extends Error {}
class ResponseTooLong extends EndpointFailure {}
/** The request never reached the endpoint. */
export class NotSent extends EndpointFailure {}

const NO_CONNECTION = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

const MAX_RESPONSE_BYTES = 8 * 1024 * 1024

/** The connection pool of one network. */
export const createAgent = (): Agent =>
  new Agent({ connections: 32, maxResponseSize: MAX_RESPONSE_BYTES, connect: { timeout: 10_000 } })

function asEndpointFailure(error: unknown): EndpointFailure {
  if (error instanceof EndpointFailure) return error
  const { name, code } = error as { name?: string; code?: string }
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new ResponseTooLong(`responded with more than ${MAX_RESPONSE_BYTES} bytes`)
  const Failure = code !== undefined && NO_CONNECTION.has(code) ? NotSent : EndpointFailure
  return new Failure(`failed with ${code ?? name ?? 'an error'}`)
}

/** Identity is checked again after this time, because the node behind a URL can change. */
const IDENTITY_TTL_MS = 30_000

export type Endpoint = ReturnType<typeof createEndpoint>

/** The latest failure, and the first one since the latest response: undefined if it responded since. By `performance.now()`. */
type Failures = { message: string; at: number; since: number | undefined }

type EndpointOptions = {
  timeoutMs: number
  agent: Agent
  headers?: Readonly<Record<string, string>> | undefined
}

/** One JSON-RPC URL. Its identity is checked before any other request. */
export function createEndpoint(
  url: string,
  identity: Identity,
  { timeoutMs, agent, headers }: EndpointOptions,
) {
  let identified: { check: Promise<void>; at: number } | undefined
  let takesBatches = true
  let failures: Failures | undefined

  function recordFailure(error: unknown): void {
    const message = error instanceof EndpointFailure ? error.message : 'failed'
    const at = performance.now()
    failures = { message, at, since: failures?.since ?? at }
  }

  function recordResponse(): void {
    if (failures !== undefined) failures.since = undefined
  }

  async function post(message: unknown): Promise<unknown> {
    const controller = new AbortController()
    return withTimeout(fetchJson(message, controller.signal), timeoutMs, () => {
      const failure = new EndpointFailure(`gave no response within ${timeoutMs} ms`)
      controller.abort(failure)
      throw failure
    })
  }

  async function fetchJson(message: unknown, signal: AbortSignal): Promise<unknown> {
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(message),
        signal,
        dispatcher: agent,
      })
      const text = await body.text()
      if (statusCode !== 200 && statusCode !== 400)
        throw new EndpointFailure(`responded with HTTP status ${statusCode}`)
      return JSON.parse(text)
    } catch (error) {
      throw asEndpointFailure(error)
    }
  }

  async function sendOne({ method, params }: RpcRequest): Promise<RpcResponse> {
    const response = RpcResponse.safeParse(await post({ jsonrpc: '2.0', id: 0, method, params }))
    if (!response.success) throw new EndpointFailure('gave a malformed response')
    return response.data
  }

  async function sendBatch(requests: readonly RpcRequest[]): Promise<(RpcResponse | undefined)[]> {
    const messages = requests.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const responses = await post(messages).catch((error: unknown) => {
      // A single long response must not fail the whole batch.
      if (error instanceof ResponseTooLong) return undefined
      throw error
    })
    if (responses === undefined) return sendSeparately(requests)
    if (!Array.isArray(responses)) {
      takesBatches = false
      return sendSeparately(requests)
    }
    const byId = new Map<unknown, RpcResponse>()
    for (const { data } of responses.map((response) => RpcResponse.safeParse(response)))
      if (data !== undefined) byId.set(data.id, data)
    return requests.map((_, id) => byId.get(id))
  }

  const sendSeparately = (requests: readonly RpcRequest[]): Promise<(RpcResponse | undefined)[]> =>
    Promise.all(requests.map((one) => sendOne(one).catch(() => undefined)))

  async function checkIdentity(): Promise<void> {
    const problem = identity.problem((await sendOne(identity.request)).result)
    if (problem !== undefined) throw new EndpointFailure(problem)
  }

  async function deliver(requests: readonly RpcRequest[]): Promise<(RpcResponse | undefined)[]> {
    if (identified === undefined || performance.now() - identified.at > IDENTITY_TTL_MS)
      identified = { check: checkIdentity(), at: performance.now() }
    try {
      await identified.check
    } catch (error) {
      identified = undefined
      throw new NotSent(error instanceof EndpointFailure ? error.message : 'failed')
    }
    const [only] = requests
    if (requests.length === 1 && only !== undefined) return [await sendOne(only)]
    return takesBatches ? sendBatch(requests) : sendSeparately(requests)
  }

  return {
    name: endpointName(url),

    /** The responses in the order of the requests, undefined where one is missing. Rejects with `EndpointFailure`. */
    async send(requests: readonly RpcRequest[]): Promise<(RpcResponse | undefined)[]> {
      try {
        const responses = await deliver(requests)
        if (responses.some((response) => response !== undefined)) recordResponse()
        else recordFailure(new EndpointFailure('gave no usable response'))
        return responses
      } catch (error) {
        recordFailure(error)
        throw error
      }
    },

    failures: (): Readonly<Failures> | undefined => failures,
  }
}
