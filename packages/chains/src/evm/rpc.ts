import type { z } from 'zod'
import { ChainUnavailable, type Nodes } from '../family'
import { Block, Quantity, quantity } from './answers'
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

/** No endpoint has the method, or takes such parameters: more time would not change that. */
export class MethodMissing extends ChainUnavailable {}

/** Questions in one HTTP request; many public nodes take no more. */
const MAX_BATCH = 20
const MAX_UNANSWERED = 5_000

/** Codes by which a node says that it cannot answer, so that another may be asked: EIP-1474 and custom. */
const cannotAnswer = new Set([-32700, -32600, -32601, -32603, -32001, -32002, -32004, -32005, -32097, 429])
const cannotAnswerNow = /header not found|unknown block|missing trie node|rate limit|too many/i
type ErrorAnswer = NonNullable<Answer['error']>

/** Of EIP-1474: method not found, method not supported, invalid params. Providers also say so in words, by any code. */
const methodMissing = new Set([-32601, -32004, -32602])
const methodMissingByWords =
  /unsupported method|method .*\b(not (supported|available|found|allowed)|does not exist)|method .*\bdisabled/i
const lacksMethod = ({ code, message }: ErrorAnswer): boolean =>
  methodMissing.has(code) || (methodMissingByWords.test(message) && !cannotAnswerNow.test(message))

const REVERTED = 3
const failsInEvm =
  /revert|out of ?gas|EVM error|invalid opcode|invalid jump|gas required exceeds|stack (over|under)flow/i
/** What a contract says while it fails is its own choice, "rate limit" among it. */
const failed = ({ code, message }: ErrorAnswer): boolean => code === REVERTED || failsInEvm.test(message)
const saysNo = (error: ErrorAnswer): boolean =>
  failed(error) || !(cannotAnswer.has(error.code) || cannotAnswerNow.test(error.message))

/** `ask`, but that all who ask for the same in one turn of the event loop share one question. */
function sharedInTurn<T, Key = void>(ask: (key: Key) => Promise<T>) {
  const asked = new Map<Key, Promise<T>>()
  return (key: Key): Promise<T> => {
    const known = asked.get(key)
    if (known !== undefined) return known
    if (asked.size === 0) setImmediate(() => asked.clear())
    const answer = ask(key)
    asked.set(key, answer)
    return answer
  }
}

/** `take` says whether the answer settled the matter; if not, the next endpoint is asked. */
type Waiting = Question & {
  take(answer: Answer | undefined): boolean
  giveUp(reason: string): void
}

export type Rpc = ReturnType<typeof createRpc>

/** How often endpoints are compared. */
const COMPARE_MS = 15_000

/**
 * JSON-RPC over HTTP. Calls made in one turn of the event loop share a request. Endpoints are asked in order, beginning
 * with the one that answered last; each attempt has `rpcTimeoutMs`. Every `compareMs` the order begins anew with the first
 * endpoint whose chain goes on: one that stands still answers, and is no use. Rejects with `ChainUnavailable` when none answers.
 */
export function createRpc({ name, chainId, rpcUrls, rpcTimeoutMs }: Nodes, compareMs = COMPARE_MS) {
  const agent = createAgent()
  const endpoints = rpcUrls.map((url) => createEndpoint(url, chainId, rpcTimeoutMs, agent))
  let preferred = 0
  let waiting: Waiting[] = []
  let unanswered = 0
  let comparedAt = performance.now()
  let heights: (bigint | undefined)[] = []

  function compareNowAndThen(): void {
    if (endpoints.length === 1 || performance.now() - comparedAt < compareMs) return
    comparedAt = performance.now()
    void compare()
  }

  async function compare(): Promise<void> {
    const before = heights
    heights = await Promise.all(endpoints.map(heightOf))
    const goesOn = heights.findIndex((height, i) => height !== undefined && height > (before[i] ?? height))
    if (goesOn >= 0) preferred = goesOn
  }

  async function deliver(questions: readonly Waiting[]): Promise<void> {
    compareNowAndThen()
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
        if (open.length === 0 && index !== first) preferred = index
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

  /** Rejects with `RpcError` where an endpoint refuses and that `settles` the matter; otherwise the next one is asked. */
  function pose<T>(
    settles: (error: ErrorAnswer) => boolean,
    schema: z.ZodType<T>,
    method: string,
    params: readonly unknown[],
  ): Promise<T> {
    if (unanswered >= MAX_UNANSWERED)
      return Promise.reject(new ChainUnavailable(`${name} is asked faster than it answers; try again later`))
    unanswered++
    return new Promise((resolve, reject) => {
      let lacking = 0
      const take = (answer: Answer | undefined): boolean => {
        if (answer === undefined) return false
        if (answer.error) {
          const { code, message } = answer.error
          if (settles(answer.error)) {
            reject(new RpcError(code, message))
            return true
          }
          if (lacksMethod(answer.error)) lacking++
          return false
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

  /** Asks what a node never has a reason to refuse: one that does is passed over. Reads the answer by its schema. */
  const call = <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> =>
    pose(() => false, schema, method, params)

  const newestBlock = sharedInTurn(() => call(Block, 'eth_getBlockByNumber', ['latest', false]))
  const height = sharedInTurn(() => call(Quantity, 'eth_blockNumber', []))
  const blockAt = sharedInTurn(async (number: bigint) => {
    const block = await call(Block.nullable(), 'eth_getBlockByNumber', [quantity(number), false])
    if (block !== null && block.number !== number)
      throw new ChainUnavailable(`${name} answers block ${block.number} when asked for ${number}`)
    return block ?? undefined
  })

  return {
    /** Asks what a node may refuse; rejects with `RpcError` where it says no. */
    ask: <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> =>
      pose(saysNo, schema, method, params),

    call,
    /** The newest block. */
    newestBlock,
    /** The number of the newest block. */
    height,
    /** The block that the chain has at this height; undefined where the node that was asked is not that far. */
    blockAt,

    /**
     * Runs code on the chain without changing it (`eth_call`, `eth_estimateGas`): its result, or why it fails. A node that
     * does not run it is passed over.
     */
    run: <T>(
      schema: z.ZodType<T>,
      method: string,
      params: readonly unknown[],
    ): Promise<{ value: T } | { reverted: string }> =>
      pose(failed, schema, method, params).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (error instanceof RpcError) return { reverted: error.message }
          throw error
        },
      ),

    close(): void {
      void agent.destroy()
    },
  }
}

/** The height of an endpoint's chain; undefined where it does not tell. */
async function heightOf(endpoint: ReturnType<typeof createEndpoint>): Promise<bigint | undefined> {
  try {
    const [answer] = await endpoint.ask([{ method: 'eth_blockNumber', params: [] }])
    return Quantity.safeParse(answer?.result).data
  } catch {
    return undefined
  }
}
