import type { z } from 'zod'
import { ChainUnavailable, type Nodes } from '../family'
import { Block } from './answers'
import { type Answer, createAgent, createEndpoint, EndpointFailure, type Question } from './endpoint'

/** The node understood the call and says no. `message` is the node's. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message.slice(0, 300))
  }
}

/** No endpoint has the method: more time would not change that. */
export class MethodMissing extends ChainUnavailable {}

/** Questions in one HTTP request; many public nodes take no more. */
const MAX_BATCH = 20
const MAX_UNANSWERED = 5_000

/** Codes by which a node says that it cannot answer, so that another may be asked: EIP-1474 and custom. */
const cannotAnswer = new Set([-32700, -32600, -32601, -32603, -32001, -32002, -32004, -32005, -32097, 429])
const cannotAnswerNow = /header not found|unknown block|missing trie node|rate limit|too many/i
const INVALID_REQUEST = -32600
/** Of EIP-1474: method not found, method not supported. Providers also say so as an invalid request, in words. */
const methodMissing = new Set([-32601, -32004])
const methodMissingByWords = /unsupported method|method .*\bnot (supported|available|found|allowed)/i
const lacksMethod = ({ code, message }: { code: number; message: string }): boolean =>
  methodMissing.has(code) || (code === INVALID_REQUEST && methodMissingByWords.test(message))
const REVERTED = 3
const failsInEvm =
  /revert|out of ?gas|EVM error|invalid opcode|invalid jump|gas required exceeds|stack (over|under)flow/i

/** `take` says whether the answer settled the matter; if not, the next endpoint is asked. */
type Waiting = Question & {
  take(answer: Answer | undefined): boolean
  giveUp(reason: string): void
}

export type Rpc = ReturnType<typeof createRpc>

/**
 * JSON-RPC over HTTP. Calls made in one turn of the event loop share a request. Endpoints are asked in order, beginning
 * with the one that answered last; each attempt has `rpcTimeoutMs`. Rejects with `ChainUnavailable` when none answers.
 */
export function createRpc({ name, chainId, rpcUrls, rpcTimeoutMs }: Nodes) {
  const agent = createAgent()
  const endpoints = rpcUrls.map((url) => createEndpoint(url, chainId, rpcTimeoutMs, agent))
  let preferred = 0
  let waiting: Waiting[] = []
  let unanswered = 0

  async function deliver(questions: readonly Waiting[]): Promise<void> {
    const failures = new Set<string>()
    let open = questions
    for (let attempt = 0, first = preferred; attempt < endpoints.length && open.length > 0; attempt++) {
      const index = (first + attempt) % endpoints.length
      try {
        const answers = (await endpoints[index]?.ask(open)) ?? []
        open = open.filter((question, i) => {
          if (question.take(answers[i])) return false
          const told = answers[i]?.error?.message.slice(0, 100) ?? 'nonsense'
          failures.add(`endpoint ${index + 1} answers ${question.method} with ${told}`)
          return true
        })
        if (open.length === 0) preferred = index
      } catch (error) {
        failures.add(`endpoint ${index + 1} ${error instanceof EndpointFailure ? error.message : 'failed'}`)
      }
    }
    const told = `${name} cannot be reached: ${[...failures].join('; ')}`
    for (const question of open) question.giveUp(told)
  }

  function flush(): void {
    const questions = waiting
    waiting = []
    for (let i = 0; i < questions.length; i += MAX_BATCH) {
      const batch = questions.slice(i, i + MAX_BATCH)
      void deliver(batch).finally(() => (unanswered -= batch.length))
    }
  }

  /** Asks and reads the answer by its schema; rejects with `RpcError` where the node says no. */
  function ask<T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> {
    if (unanswered >= MAX_UNANSWERED)
      return Promise.reject(new ChainUnavailable(`${name} is asked faster than it answers; try again later`))
    unanswered++
    return new Promise((resolve, reject) => {
      let lacking = 0
      const take = (answer: Answer | undefined): boolean => {
        if (answer === undefined) return false
        if (answer.error) {
          const { code, message } = answer.error
          if (lacksMethod(answer.error)) lacking++
          // What a contract says while it fails is its own choice, "rate limit" among it.
          const failed = code === REVERTED || failsInEvm.test(message)
          if (!failed && (cannotAnswer.has(code) || cannotAnswerNow.test(message))) return false
          reject(new RpcError(code, message))
          return true
        }
        const { success, data } = schema.safeParse(answer.result)
        if (success) resolve(data)
        return success
      }
      const giveUp = (reason: string): void => {
        const Problem = lacking === endpoints.length ? MethodMissing : ChainUnavailable
        reject(new Problem(reason))
      }
      if (waiting.push({ method, params, take, giveUp }) === 1) setImmediate(flush)
    })
  }

  const unavailable = (method: string, error: unknown): unknown =>
    error instanceof RpcError
      ? new ChainUnavailable(`${name} refuses ${method}: ${error.message}`, { cause: error })
      : error

  /** Like `ask`, for what a node never has a reason to refuse. */
  const call = <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> =>
    ask(schema, method, params).catch((error: unknown) => {
      throw unavailable(method, error)
    })

  let newest: Promise<Block> | undefined
  /** The newest block. Callers in one turn of the event loop share one question. */
  function newestBlock(): Promise<Block> {
    if (!newest) {
      setImmediate(() => (newest = undefined))
      newest = call(Block, 'eth_getBlockByNumber', ['latest', false])
    }
    return newest
  }

  return {
    ask,

    call,
    newestBlock,

    /** Runs code on the chain without changing it (`eth_call`, `eth_estimateGas`): its result, or why it fails. */
    run: <T>(
      schema: z.ZodType<T>,
      method: string,
      params: readonly unknown[],
    ): Promise<{ value: T } | { reverted: string }> =>
      ask(schema, method, params).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (error instanceof RpcError && (error.code === REVERTED || failsInEvm.test(error.message)))
            return { reverted: error.message }
          throw unavailable(method, error)
        },
      ),

    close(): void {
      void agent.destroy()
    },
  }
}
