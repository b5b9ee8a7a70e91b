import type { z } from 'zod'
import { ChainUnavailable, type Nodes } from '../family'
import {
  type Answer,
  createAgent,
  createEndpoint,
  type Endpoint,
  EndpointFailure,
  type ErrorAnswer,
  type Identity,
  NotSent,
  type Question,
} from './endpoint'

export type { ErrorAnswer } from './endpoint'

/** The node understood the call and says no. `message` is the node's. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    /** Whether an endpoint that was asked before may have done it: it gave no answer, or none that settles the matter. */
    readonly mayBeDone = false,
  ) {
    super(message.slice(0, 300))
  }
}

/** No endpoint gave an answer that settles the matter. `mayBeDone`: one of them may have done it all the same. */
export class Unanswered extends ChainUnavailable {
  constructor(
    message: string,
    readonly mayBeDone: boolean,
  ) {
    super(message)
  }
}

/** No endpoint has the method, or takes such parameters: more time would not change that. */
export class MethodMissing extends ChainUnavailable {}

/** How the nodes of one kind of chain talk. */
export type Dialect = {
  identity: Identity
  /** How far a node's chain is; `read` answers undefined where the result does not tell. */
  height: { question: Question; read(result: unknown): bigint | undefined }
  /** Questions that a node takes in one HTTP request. */
  maxBatch: number
  /** Whether an endpoint that answers so will never answer anything else to the same question. */
  lacksMethod(error: ErrorAnswer): boolean
  /** What the error says in words. */
  wordsOf(error: ErrorAnswer): string
}

/** One question, and what is to be made of its answer. */
export type Inquiry<T> = Question & {
  schema: z.ZodType<T>
  /** Whether an endpoint that refuses so has settled the matter, so that no other is asked; by default none has. */
  settles?: (error: ErrorAnswer) => boolean
  /**
   * Why an answer of the right shape is no use all the same; the next endpoint is asked then. `mayBeDone`: an
   * endpoint that was asked before may have done it, and gave no answer, or none that settles the matter.
   */
  doubt?: (value: T, mayBeDone: boolean) => string | Undone | undefined
}

/** Why an answer does not settle the matter, from an endpoint that certainly did nothing. */
export type Undone = { undone: string }

export type Ask = <T>(inquiry: Inquiry<T>) => Promise<T>

const MAX_UNANSWERED = 5_000

/** `ask`, but that all who ask for the same in one turn of the event loop share one question. */
export function sharedInTurn<T, Key = void>(ask: (key: Key) => Promise<T>) {
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

/** `take` tells why the answer did not settle the matter, so that the next endpoint is asked; undefined where it did. */
type Waiting = Question & {
  take(answer: Answer | undefined): string | Undone | undefined
  /** An endpoint did not answer, or nothing that settles the matter, and may have done what it was asked all the same. */
  miss(): void
  giveUp(reason: string): void
}

/** How long `heights` waits for an endpoint, and for how long it then leaves it out. */
const HIGHEST_TIMEOUT_MS = 1_000
const SILENT_MS = 30_000

/** How often endpoints are compared. */
const COMPARE_MS = 15_000
/** How long an endpoint may take to tell its height while a question waits for that. */
const HEIGHT_MS = 1_000

/**
 * JSON-RPC over HTTP. Calls made in one turn of the event loop share a request. Endpoints are asked in order, beginning
 * with the one that answered last; each attempt has `rpcTimeoutMs`. Every `compareMs` the order begins anew with the first
 * endpoint whose chain goes on: one that stands still answers, and is no use. Rejects with `ChainUnavailable` when none answers.
 */
export function createJsonRpc(
  { name, rpcUrls, rpcTimeoutMs }: Pick<Nodes, 'name' | 'rpcUrls' | 'rpcTimeoutMs'>,
  dialect: Dialect,
  compareMs = COMPARE_MS,
) {
  const agent = createAgent()
  const endpoints = rpcUrls.map((url) => createEndpoint(url, dialect.identity, rpcTimeoutMs, agent))
  let preferred = 0
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
    heights = await Promise.all(endpoints.map((endpoint) => heightOf(endpoint, dialect)))
    const goesOn = heights.findIndex((height, i) => height !== undefined && height > (before[i] ?? height))
    if (goesOn >= 0) preferred = goesOn
  }

  const silentUntil = new Map<Endpoint, number>()

  /** Of one endpoint, within a second; one that did not answer in time is not waited for again for a while. */
  async function heightInTime(endpoint: Endpoint): Promise<bigint | undefined> {
    if ((silentUntil.get(endpoint) ?? 0) > performance.now()) return undefined
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), Math.min(HIGHEST_TIMEOUT_MS, rpcTimeoutMs))
    })
    const height = await Promise.race([heightOf(endpoint, dialect), tooLate])
    clearTimeout(timer)
    if (height === undefined) silentUntil.set(endpoint, performance.now() + SILENT_MS)
    return height
  }

  const heightsInTime = sharedInTurn(async () => {
    const found = await Promise.all(endpoints.map(heightInTime))
    return found.filter((height) => height !== undefined)
  })

  const lacks = (answer: Answer | undefined): boolean => !!answer?.error && dialect.lacksMethod(answer.error)

  /** Asks the endpoints in order, beginning with that of `firstOf`; tells `answeredBy` where another one answered. */
  function createAsk(firstOf: () => number, answeredBy: (index: number) => void): Ask {
    let waiting: Waiting[] = []

    async function deliver(questions: readonly Waiting[]): Promise<void> {
      compareNowAndThen()
      const failures = new Set<string>()
      let open = questions
      for (let attempt = 0, first = firstOf(); attempt < endpoints.length && open.length > 0; attempt++) {
        const index = (first + attempt) % endpoints.length
        try {
          const answers = (await endpoints[index]?.ask(open)) ?? []
          open = open.filter((question, i) => {
            const told = question.take(answers[i])
            if (told === undefined) return false
            const isUndone = typeof told !== 'string'
            if (!isUndone && !lacks(answers[i])) question.miss()
            const words = (isUndone ? told.undone : told).slice(0, 100)
            failures.add(`endpoint ${index + 1} answers ${question.method} with ${words}`)
            return true
          })
          if (open.length === 0 && index !== first) answeredBy(index)
        } catch (error) {
          if (!(error instanceof NotSent)) for (const question of open) question.miss()
          failures.add(`endpoint ${index + 1} ${error instanceof EndpointFailure ? error.message : 'failed'}`)
        }
      }
      const told = `${name} cannot be reached: ${[...failures].join('; ')}`
      for (const question of open) question.giveUp(told)
    }

    function flush(): void {
      const questions = waiting
      waiting = []
      for (let i = 0; i < questions.length; i += dialect.maxBatch) {
        const batch = questions.slice(i, i + dialect.maxBatch)
        void deliver(batch).finally(() => (unanswered -= batch.length))
      }
    }

    return <T>({ method, params, schema, settles = () => false, doubt }: Inquiry<T>): Promise<T> => {
      if (unanswered >= MAX_UNANSWERED)
        return Promise.reject(
          new ChainUnavailable(`${name} is asked faster than it answers; try again later`),
        )
      unanswered++
      return new Promise((resolve, reject) => {
        let lacking = 0
        let mayBeDone = false
        const take = (answer: Answer | undefined): string | Undone | undefined => {
          if (answer?.error) {
            const words = dialect.wordsOf(answer.error)
            if (settles(answer.error)) {
              reject(new RpcError(answer.error.code, words, mayBeDone))
              return undefined
            }
            if (dialect.lacksMethod(answer.error)) lacking++
            return words
          }
          const { success, data } = schema.safeParse(answer?.result)
          if (answer === undefined || !success) return 'nonsense'
          const problem = doubt?.(data, mayBeDone)
          if (problem === undefined) resolve(data)
          return problem
        }
        const giveUp = (reason: string): void =>
          reject(lacking === endpoints.length ? new MethodMissing(reason) : new Unanswered(reason, mayBeDone))
        if (waiting.push({ method, params, take, miss: () => (mayBeDone = true), giveUp }) === 1)
          setImmediate(flush)
      })
    }
  }

  const asks = new Map<number, Ask>()
  function askFirst(index: number): Ask {
    const ask =
      asks.get(index) ??
      createAsk(
        () => index,
        () => undefined,
      )
    asks.set(index, ask)
    return ask
  }

  const heightsNow = sharedInTurn(() =>
    Promise.all(endpoints.map((endpoint) => within(HEIGHT_MS, heightOf(endpoint, dialect)))),
  )

  return {
    /**
     * The answer, read by its schema. Rejects with `RpcError` where an endpoint refuses and that `settles` the matter, with
     * `MethodMissing` where every endpoint lacks the method, and else with `Unanswered`.
     */
    ask: createAsk(
      () => preferred,
      (index) => (preferred = index),
    ),

    /**
     * `ask`, beginning with the endpoint whose chain is furthest; undefined where the endpoint that `ask` begins with is as
     * far, or none tells.
     */
    async askFurthest(): Promise<Ask | undefined> {
      if (endpoints.length === 1) return undefined
      const used = preferred
      const found = await heightsNow()
      const furthest = found.reduce<number>(
        (best, height, i) => ((height ?? -1n) > (found[best] ?? -1n) ? i : best),
        used,
      )
      return furthest === used ? undefined : askFirst(furthest)
    },

    /** What each endpoint answers for itself, in their order; undefined where one gives no answer. */
    askEach: (question: Question): Promise<(Answer | undefined)[]> =>
      Promise.all(
        endpoints.map((endpoint) =>
          endpoint.ask([question]).then(
            ([answer]) => answer,
            () => undefined,
          ),
        ),
      ),
    /** The heights that the endpoints state within a second; none where there is one endpoint. */
    heights: (): Promise<readonly bigint[]> =>
      endpoints.length === 1 ? Promise.resolve([]) : heightsInTime(),

    close(): void {
      void agent.destroy()
    },
  }
}

/** The answer, or undefined where it takes longer than `ms`. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), ms)))
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

/** The height of an endpoint's chain; undefined where it does not tell. */
async function heightOf(endpoint: Endpoint, { height }: Dialect): Promise<bigint | undefined> {
  try {
    const [answer] = await endpoint.ask([height.question])
    return height.read(answer?.result)
  } catch {
    return undefined
  }
}
