import { Agent, request } from 'undici'
import { z } from 'zod'

/** By position, or by name. */
type Params = readonly unknown[] | Readonly<Record<string, unknown>>

export type Question = { method: string; params: Params }

const Answer = z.object({
  id: z.number().nullish(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).nullish(),
})
export type Answer = z.infer<typeof Answer>
export type ErrorAnswer = NonNullable<Answer['error']>

/** By what a node shows that it is of the network it is used for. */
export type Identity = {
  question: Question
  /** Why a node that answers this is not used, as the end of a sentence that begins with the node; undefined where it is. */
  problem(result: unknown): string | undefined
}

/** Why an endpoint gave no answer. Says nothing of its URL, which may hold a key. */
export class EndpointFailure extends Error {}
class TooLong extends EndpointFailure {}
/** The endpoint was never sent the question. */
export class NotSent extends EndpointFailure {}

const NO_CONNECTION = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Connections shared by the endpoints of one network. */
export const createAgent = (): Agent =>
  new Agent({ connections: 32, maxResponseSize: MAX_ANSWER_BYTES, connect: { timeout: 10_000 } })

function failureOf(error: unknown): EndpointFailure {
  if (error instanceof EndpointFailure) return error
  const { name, code } = error as { name?: string; code?: string }
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new TooLong(`answers with more than ${MAX_ANSWER_BYTES} bytes`)
  const Failure = code !== undefined && NO_CONNECTION.has(code) ? NotSent : EndpointFailure
  return new Failure(`failed with ${code ?? name ?? 'an error'}`)
}

/** How long an endpoint is believed to be what it showed itself to be: what stands behind a URL changes. */
const IDENTITY_MS = 30_000

export type Endpoint = ReturnType<typeof createEndpoint>

/** One JSON-RPC URL; it has to show its identity before it is asked anything else, and is not used where that is wrong. */
export function createEndpoint(url: string, identity: Identity, timeoutMs: number, agent: Agent) {
  const tooLate = `gave no answer within ${timeoutMs} ms`
  let shown: { known: Promise<void>; at: number } | undefined
  let takesBatches = true

  async function post(message: unknown): Promise<unknown> {
    // Ended with the attempt: AbortSignal.timeout would go on, and fire at an attempt that is long over.
    const patience = new AbortController()
    const timer = setTimeout(() => patience.abort(new EndpointFailure(tooLate)), timeoutMs)
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        signal: patience.signal,
        dispatcher: agent,
      })
      const text = await body.text()
      if (statusCode !== 200 && statusCode !== 400)
        throw new EndpointFailure(`answered with HTTP status ${statusCode}`)
      return JSON.parse(text)
    } catch (error) {
      throw failureOf(error)
    } finally {
      clearTimeout(timer)
    }
  }

  async function askOne({ method, params }: Question): Promise<Answer> {
    const answer = Answer.safeParse(await post({ jsonrpc: '2.0', id: 0, method, params }))
    if (!answer.success) throw new EndpointFailure('answered nonsense')
    return answer.data
  }

  async function askTogether(questions: readonly Question[]): Promise<(Answer | undefined)[]> {
    const messages = questions.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const answers = await post(messages).catch((error: unknown) => {
      // One long answer takes no others along.
      if (error instanceof TooLong) return undefined
      throw error
    })
    if (answers === undefined) return askApart(questions)
    if (!Array.isArray(answers)) {
      takesBatches = false
      return askApart(questions)
    }
    const byId = new Map<unknown, Answer>()
    for (const { data } of answers.map((answer) => Answer.safeParse(answer)))
      if (data !== undefined) byId.set(data.id, data)
    return questions.map((_, id) => byId.get(id))
  }

  const askApart = (questions: readonly Question[]): Promise<(Answer | undefined)[]> =>
    Promise.all(questions.map((question) => askOne(question).catch(() => undefined)))

  async function show(): Promise<void> {
    const problem = identity.problem((await askOne(identity.question)).result)
    if (problem !== undefined) throw new EndpointFailure(problem)
  }

  return {
    /** The answers in the order of the questions, undefined where there is none; rejects with `EndpointFailure`. */
    async ask(questions: readonly Question[]): Promise<(Answer | undefined)[]> {
      if (shown === undefined || performance.now() - shown.at > IDENTITY_MS)
        shown = { known: show(), at: performance.now() }
      try {
        await shown.known
      } catch (error) {
        shown = undefined
        throw new NotSent(error instanceof EndpointFailure ? error.message : 'failed')
      }
      const [only] = questions
      if (questions.length === 1 && only !== undefined) return [await askOne(only)]
      return takesBatches ? askTogether(questions) : askApart(questions)
    },
  }
}
