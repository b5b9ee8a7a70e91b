import { withTimeout } from '@tollgate/protocol'
import type { z } from 'zod'
import { ChainUnavailable, type Nodes } from '../family'
import {
  createAgent,
  createEndpoint,
  type Endpoint,
  EndpointFailure,
  type Identity,
  NotSent,
  type RpcErrorObject,
  type RpcRequest,
  type RpcResponse,
} from './endpoint'

export type { RpcErrorObject } from './endpoint'

/** The node understood the request and refused it. `message` is the node's. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    /** An earlier endpoint, which gave no final response, may have executed the request. */
    readonly mayHaveExecuted = false,
  ) {
    super(message.slice(0, 300))
  }
}

/** No endpoint gave a final response. `mayHaveExecuted`: one of them may still have executed the request. */
export class NoResponse extends ChainUnavailable {
  constructor(
    message: string,
    readonly mayHaveExecuted: boolean,
  ) {
    super(message)
  }
}

/** No endpoint supports the method with these parameters, so a retry would not help. */
export class MethodMissing extends ChainUnavailable {}

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

export type TypedRequest<T> = RpcRequest & {
  schema: z.ZodType<T>
  /** Whether an error is final, so that no other endpoint is tried; by default none is. */
  isFinal?: (error: RpcErrorObject) => boolean
  /**
   * Why a well-formed result cannot be used, so that the next endpoint is tried. `mayHaveExecuted`: an earlier endpoint
   * may have executed the request.
   */
  findProblem?: (value: T, mayHaveExecuted: boolean) => string | NotExecuted | undefined
}

/** The problem of a result whose endpoint certainly did not execute the request. */
export type NotExecuted = { notExecuted: string }

export type SendRequest = <T>(request: TypedRequest<T>) => Promise<T>

const MAX_PENDING = 5_000

/** Callers with the same key in one turn of the event loop share one promise. */
export function coalesce<T, Key = void>(load: (key: Key) => Promise<T>) {
  const loading = new Map<Key, Promise<T>>()
  return (key: Key): Promise<T> => {
    const known = loading.get(key)
    if (known !== undefined) return known
    if (loading.size === 0) setImmediate(() => loading.clear())
    const result = load(key)
    loading.set(key, result)
    return result
  }
}

type PendingRequest = RpcRequest & {
  /** Settles the request, or returns why the next endpoint must be tried. */
  accept(response: RpcResponse | undefined): string | NotExecuted | undefined
  /** An endpoint that gave no final response may have executed the request. */
  markMayHaveExecuted(): void
  giveUp(reason: string): void
}

/** `heights` waits this long for an endpoint, and then skips it for `SILENT_MS`. */
const HEIGHTS_TIMEOUT_MS = 1_000
const SILENT_MS = 30_000

/** Interval between comparisons of the endpoints. */
const COMPARE_MS = 15_000
/** `findFurthest` waits this long for an endpoint. */
const FURTHEST_TIMEOUT_MS = 1_000

/**
 * JSON-RPC over HTTP. Requests of one turn of the event loop share an HTTP request. Endpoints are tried in order, starting
 * with the last one that responded; each attempt has `rpcTimeoutMs`. Every `compareMs` the first endpoint whose height
 * still grows becomes the preferred one. Rejects with `ChainUnavailable` if no endpoint gives a usable response.
 */
export function createJsonRpc(
  { name, rpcUrls, rpcTimeoutMs }: Pick<Nodes, 'name' | 'rpcUrls' | 'rpcTimeoutMs'>,
  protocol: NodeProtocol,
  compareMs = COMPARE_MS,
) {
  const agent = createAgent()
  const endpoints = rpcUrls.map((url) => createEndpoint(url, protocol.identity, rpcTimeoutMs, agent))
  let preferred = 0
  let pending = 0
  let comparedAt = performance.now()
  let lastHeights: (bigint | undefined)[] = []

  function compareIfDue(): void {
    if (endpoints.length === 1 || performance.now() - comparedAt < compareMs) return
    comparedAt = performance.now()
    void compare()
  }

  async function compare(): Promise<void> {
    const before = lastHeights
    lastHeights = await Promise.all(endpoints.map((endpoint) => heightOf(endpoint, protocol)))
    const growing = lastHeights.findIndex(
      (height, i) => height !== undefined && height > (before[i] ?? height),
    )
    if (growing >= 0) preferred = growing
  }

  const silentUntil = new Map<Endpoint, number>()

  async function heightUnlessSilent(endpoint: Endpoint): Promise<bigint | undefined> {
    if ((silentUntil.get(endpoint) ?? 0) > performance.now()) return undefined
    const height = await heightWithin(Math.min(HEIGHTS_TIMEOUT_MS, rpcTimeoutMs), endpoint)
    if (height === undefined) silentUntil.set(endpoint, performance.now() + SILENT_MS)
    return height
  }

  const heightWithin = (ms: number, endpoint: Endpoint): Promise<bigint | undefined> =>
    withTimeout(heightOf(endpoint, protocol), ms, () => undefined)

  const availableHeights = coalesce(async () => {
    const heights = await Promise.all(endpoints.map(heightUnlessSilent))
    return heights.filter((height) => height !== undefined)
  })

  const lacksMethod = (response: RpcResponse | undefined): boolean =>
    !!response?.error && protocol.lacksMethod(response.error)

  /** Tries the endpoints in order, starting with `getFirst()`; calls `onOther` if a later one finishes a delivery. */
  function createSender(getFirst: () => number, onOther: (index: number) => void): SendRequest {
    let queue: PendingRequest[] = []

    async function deliver(requests: readonly PendingRequest[]): Promise<void> {
      compareIfDue()
      const failures = new Set<string>()
      let open = requests
      for (let attempt = 0, first = getFirst(); attempt < endpoints.length && open.length > 0; attempt++) {
        const index = (first + attempt) % endpoints.length
        try {
          const responses = (await endpoints[index]?.send(open)) ?? []
          open = open.filter((request, i) => {
            const problem = request.accept(responses[i])
            if (problem === undefined) return false
            const isExecuted = typeof problem === 'string'
            if (isExecuted && !lacksMethod(responses[i])) request.markMayHaveExecuted()
            const text = (isExecuted ? problem : problem.notExecuted).slice(0, 100)
            failures.add(`endpoint ${index + 1} responded to ${request.method} with ${text}`)
            return true
          })
          if (open.length === 0 && index !== first) onOther(index)
        } catch (error) {
          if (!(error instanceof NotSent)) for (const request of open) request.markMayHaveExecuted()
          failures.add(`endpoint ${index + 1} ${error instanceof EndpointFailure ? error.message : 'failed'}`)
        }
      }
      const reason = `${name} is unavailable: ${[...failures].join('; ')}`
      for (const request of open) request.giveUp(reason)
    }

    function flush(): void {
      const requests = queue
      queue = []
      for (let i = 0; i < requests.length; i += protocol.maxBatch) {
        const batch = requests.slice(i, i + protocol.maxBatch)
        void deliver(batch).finally(() => (pending -= batch.length))
      }
    }

    return <T>({
      method,
      params,
      schema,
      isFinal = () => false,
      findProblem,
    }: TypedRequest<T>): Promise<T> => {
      if (pending >= MAX_PENDING)
        return Promise.reject(new ChainUnavailable(`${name} has too many pending requests; try again later`))
      pending++
      return new Promise((resolve, reject) => {
        let lacking = 0
        let mayHaveExecuted = false
        const accept = (response: RpcResponse | undefined): string | NotExecuted | undefined => {
          if (response?.error) {
            const message = protocol.errorMessage(response.error)
            if (isFinal(response.error)) {
              reject(new RpcError(response.error.code, message, mayHaveExecuted))
              return undefined
            }
            if (protocol.lacksMethod(response.error)) lacking++
            return message
          }
          const { success, data } = schema.safeParse(response?.result)
          if (response === undefined || !success) return 'a malformed result'
          const problem = findProblem?.(data, mayHaveExecuted)
          if (problem === undefined) resolve(data)
          return problem
        }
        const markMayHaveExecuted = (): void => void (mayHaveExecuted = true)
        const giveUp = (reason: string): void =>
          reject(
            lacking === endpoints.length
              ? new MethodMissing(reason)
              : new NoResponse(reason, mayHaveExecuted),
          )
        if (queue.push({ method, params, accept, markMayHaveExecuted, giveUp }) === 1) setImmediate(flush)
      })
    }
  }

  const senders = new Map<number, SendRequest>()
  function senderStartingWith(index: number): SendRequest {
    const sender =
      senders.get(index) ??
      createSender(
        () => index,
        () => undefined,
      )
    senders.set(index, sender)
    return sender
  }

  const currentHeights = coalesce(() =>
    Promise.all(endpoints.map((endpoint) => heightWithin(FURTHEST_TIMEOUT_MS, endpoint))),
  )

  return {
    /** Rejects with `RpcError` for a final error, with `MethodMissing` if every endpoint lacks the method, else `NoResponse`. */
    request: createSender(
      () => preferred,
      (index) => (preferred = index),
    ),

    /**
     * `request`, starting with the endpoint of the highest block; undefined if the preferred endpoint is as high, or no
     * endpoint responds.
     */
    async findFurthest(): Promise<SendRequest | undefined> {
      if (endpoints.length === 1) return undefined
      const used = preferred
      const heights = await currentHeights()
      const furthest = heights.reduce<number>(
        (best, height, i) => ((height ?? -1n) > (heights[best] ?? -1n) ? i : best),
        used,
      )
      return furthest === used ? undefined : senderStartingWith(furthest)
    },

    /** The response of each endpoint, in their order; undefined if it gives none. */
    requestEach: (request: RpcRequest): Promise<(RpcResponse | undefined)[]> =>
      Promise.all(
        endpoints.map((endpoint) =>
          endpoint.send([request]).then(
            ([response]) => response,
            () => undefined,
          ),
        ),
      ),

    /** The heights of the endpoints that respond within a second; empty if there is only one endpoint. */
    heights: (): Promise<readonly bigint[]> =>
      endpoints.length === 1 ? Promise.resolve([]) : availableHeights(),

    close(): void {
      void agent.destroy()
    },
  }
}

async function heightOf(endpoint: Endpoint, { height }: NodeProtocol): Promise<bigint | undefined> {
  try {
    const [response] = await endpoint.send([height.request])
    return height.read(response?.result)
  } catch {
    return undefined
  }
}
