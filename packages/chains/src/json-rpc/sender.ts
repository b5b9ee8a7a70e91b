import type { z } from 'zod'
import { ChainUnavailable } from '../errors'
import { type ObserveRequest } from '../family'
import {
  type Endpoint,
  EndpointFailure,
  type NodeProtocol,
  NotSent,
  type RpcErrorObject,
  type RpcRequest,
  type RpcResponse,
} from './endpoint'

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

export type TypedRequest<T> = RpcRequest & {
  schema: z.ZodType<T>
  /** Whether an error is final, so that no other endpoint is tried; by default none is. */
  isFinal?: (error: RpcErrorObject) => boolean
  /**
   * Why a well-formed result cannot be used, so that the next endpoint is tried. `mayHaveExecuted`: an earlier endpoint
   * may have executed the request.
   */
  findProblem?: (value: T, mayHaveExecuted: boolean) => string | NotExecuted | undefined
  observe?: ObserveRequest | undefined
}

/** The problem of a result whose endpoint certainly did not execute the request. */
type NotExecuted = { notExecuted: string }

export type SendRequest = <T>(request: TypedRequest<T>) => Promise<T>

/** The same, observed. */
export const observing = (send: SendRequest, observe: ObserveRequest | undefined): SendRequest =>
  observe ? (request) => send({ ...request, observe }) : send

const MAX_PENDING = 5_000

type PendingRequest = RpcRequest & {
  /** Settles the request, or returns why the next endpoint must be tried. */
  accept(response: RpcResponse | undefined, node: string): string | NotExecuted | undefined
  /** An endpoint that gave no final response may have executed the request. */
  markMayHaveExecuted(): void
  giveUp(reason: string): void
}

/** The endpoints of one network, and what all its senders share. */
type SenderContext = {
  name: string
  endpoints: readonly Endpoint[]
  protocol: NodeProtocol
  pending: { count: number }
  onDelivery(): void
}

/** Tries the endpoints in order, starting with `getFirst()`; calls `onOther` if a later one finishes a delivery. */
export function createSender(
  { name, endpoints, protocol, pending, onDelivery }: SenderContext,
  getFirst: () => number,
  onOther: (index: number) => void,
): SendRequest {
  let queue: PendingRequest[] = []

  const lacksMethod = (response: RpcResponse | undefined): boolean =>
    !!response?.error && protocol.lacksMethod(response.error)

  async function deliver(requests: readonly PendingRequest[]): Promise<void> {
    onDelivery()
    const failures = new Set<string>()
    let open = requests
    for (let attempt = 0, first = getFirst(); attempt < endpoints.length && open.length > 0; attempt++) {
      const index = (first + attempt) % endpoints.length
      try {
        const endpoint = endpoints[index]
        const responses = (await endpoint?.send(open)) ?? []
        open = open.filter((request, i) => {
          const problem = request.accept(responses[i], endpoint?.name ?? '')
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
      void deliver(batch).finally(() => (pending.count -= batch.length))
    }
  }

  return <T>({
    method,
    params,
    schema,
    isFinal = () => false,
    findProblem,
    observe,
  }: TypedRequest<T>): Promise<T> => {
    if (pending.count >= MAX_PENDING)
      return Promise.reject(new ChainUnavailable(`${name} has too many pending requests; try again later`))
    pending.count++
    const observed = observe?.(method)
    return new Promise((resolve, reject) => {
      let lacking = 0
      let mayHaveExecuted = false
      const accept: PendingRequest['accept'] = (response, node) => {
        if (response?.error) {
          const message = protocol.errorMessage(response.error)
          if (isFinal(response.error)) {
            observed?.({ node, isError: true })
            reject(new RpcError(response.error.code, message, mayHaveExecuted))
            return undefined
          }
          if (protocol.lacksMethod(response.error)) lacking++
          return message
        }
        const { success, data } = schema.safeParse(response?.result)
        if (response === undefined || !success) return 'a malformed result'
        const problem = findProblem?.(data, mayHaveExecuted)
        if (problem !== undefined) return problem
        observed?.({ node, isError: false })
        resolve(data)
        return undefined
      }
      const markMayHaveExecuted = (): void => void (mayHaveExecuted = true)
      const giveUp = (reason: string): void => {
        observed?.({ isError: true })
        reject(
          lacking === endpoints.length ? new MethodMissing(reason) : new NoResponse(reason, mayHaveExecuted),
        )
      }
      if (queue.push({ method, params, accept, markMayHaveExecuted, giveUp }) === 1) setImmediate(flush)
    })
  }
}
