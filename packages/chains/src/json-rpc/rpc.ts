import { withTimeout } from '@tollgate/protocol'
import { type NodeReport, type Nodes } from '../family'
import { coalesce } from './coalesce'
import {
  createAgent,
  createEndpoint,
  type Endpoint,
  type NodeProtocol,
  type RpcRequest,
  type RpcResponse,
} from './endpoint'
import { createSender, type SendRequest } from './sender'

/** `heights` waits this long for an endpoint, and then skips it for `SILENT_MS`. */
const HEIGHTS_TIMEOUT_MS = 1_000
const SILENT_MS = 30_000

/** Interval between comparisons of the endpoints. */
const COMPARE_MS = 15_000
/** `findFurthest` waits this long for an endpoint. */
const FURTHEST_TIMEOUT_MS = 1_000
/** `inspect` waits this long for an endpoint. */
const INSPECT_TIMEOUT_MS = 1_000

/**
 * JSON-RPC over HTTP. Requests of one turn of the event loop share an HTTP request. Endpoints are tried in order, starting
 * with the last one that responded; each attempt has `rpcTimeoutMs`. Every `compareMs` the first endpoint whose height
 * still grows becomes the preferred one. Rejects with `ChainUnavailable` if no endpoint gives a usable response.
 */
export function createJsonRpc(
  {
    name,
    rpcUrls,
    rpcHeaders = [],
    rpcTimeoutMs,
  }: Pick<Nodes, 'name' | 'rpcUrls' | 'rpcHeaders' | 'rpcTimeoutMs'>,
  protocol: NodeProtocol,
  compareMs = COMPARE_MS,
) {
  const agent = createAgent()
  const endpoints = rpcUrls.map((url, index) =>
    createEndpoint(url, protocol.identity, { timeoutMs: rpcTimeoutMs, agent, headers: rpcHeaders[index] }),
  )
  let preferred = 0
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

  const pending = { count: 0 }
  const context = { name, endpoints, protocol, pending, onDelivery: compareIfDue }
  const senders = new Map<number, SendRequest>()
  function senderStartingWith(index: number): SendRequest {
    const sender =
      senders.get(index) ??
      createSender(
        context,
        () => index,
        () => undefined,
      )
    senders.set(index, sender)
    return sender
  }

  const currentHeights = coalesce(() =>
    Promise.all(endpoints.map((endpoint) => heightWithin(FURTHEST_TIMEOUT_MS, endpoint))),
  )

  async function inspectEndpoint(endpoint: Endpoint): Promise<NodeReport> {
    const height = await heightWithin(INSPECT_TIMEOUT_MS, endpoint)
    const failures = endpoint.failures()
    const ago = (at: number) => performance.now() - at
    return {
      name: endpoint.name,
      height,
      lastFailure: failures && { message: failures.message, agoMs: ago(failures.at) },
      failingForMs: failures?.since === undefined ? undefined : ago(failures.since),
    }
  }

  return {
    /** Rejects with `RpcError` for a final error, with `MethodMissing` if every endpoint lacks the method, else `NoResponse`. */
    request: createSender(
      context,
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

    /** Each endpoint, in their order, within a second. Never rejects. */
    inspect: (): Promise<NodeReport[]> => Promise.all(endpoints.map(inspectEndpoint)),

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
