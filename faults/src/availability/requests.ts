import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'

/**
 * `done`: served as asked, or answered as the contract has it. `pending`: the outcome of a payment is not known yet, and the client is
 * told to repeat. `away`: refused with 503 and Retry-After, or by the facilitator's `SETTLEMENT_FAILED` or `VERIFICATION_FAILED`, after which the same request is
 * repeated, where a scenario allows that. `failed`: everything else.
 */
export type Verdict = 'done' | 'pending' | 'away' | 'failed'

export type Sent = {
  actor: string
  startedAt: number
  endedAt: number
  verdict: Verdict
  /** Status and code, or the error of the connection. */
  answer: string
}

export type Answer = { status: number; headers: Record<string, unknown>; body: Record<string, unknown> }

export type Asked = {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: unknown
  /** Whether the answer is a right one. */
  isRight: (answer: Answer) => boolean
}

export type Requests = ReturnType<typeof createRequests>

const TIMEOUT_MS = 60_000
const AFTER_FAILURE_MS = 100
const MAX_PAUSE_MS = 1_000

/**
 * Sends requests, each on a connection of its own: nginx closes idle connections of clients when it reloads, which is no
 * matter of the services.
 */
export function createRequests() {
  const agent = new Agent({ pipelining: 0, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS })
  const sent: Sent[] = []
  const underWay = new Map<object, { actor: string; startedAt: number }>()

  async function ask(
    actor: string,
    url: string,
    { method, headers = {}, body, isRight }: Asked,
  ): Promise<{ verdict: Verdict; answer?: Answer }> {
    const startedAt = Date.now()
    const key = { actor, startedAt }
    underWay.set(key, key)
    const record = (verdict: Verdict, answer: string) =>
      sent.push({ actor, startedAt, endedAt: Date.now(), verdict, answer })
    try {
      const response = await request(url, {
        dispatcher: agent,
        reset: true,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body: body === undefined ? null : JSON.stringify(body),
      })
      const text = await response.body.text()
      const answer: Answer = { status: response.statusCode, headers: response.headers, body: objectIn(text) }
      const verdict = verdictOf(answer, isRight)
      record(verdict, verdict === 'failed' ? `${answer.status} ${text.slice(0, 160)}` : `${answer.status}`)
      if (verdict !== 'done') await delay(pauseAfter(answer))
      return { verdict, answer }
    } catch (error) {
      record('failed', String((error as NodeJS.ErrnoException).code ?? error))
      await delay(AFTER_FAILURE_MS)
      return { verdict: 'failed' }
    } finally {
      underWay.delete(key)
    }
  }

  return {
    ask,
    sent: sent as readonly Sent[],
    underWay: () => underWay.size,
    close: () => agent.destroy(),
  }
}

function verdictOf(answer: Answer, isRight: (answer: Answer) => boolean): Verdict {
  const { status, headers, body } = answer
  if (isRight(answer)) return 'done'
  if (status === 503 && headers['retry-after'] !== undefined)
    return body['code'] === 'PAYMENT_PENDING' ? 'pending' : 'away'
  if (status === 500 && REPEATABLE.has(body['code'])) return 'away'
  return status === 200 && body['errorReason'] === 'settlement_pending' ? 'pending' : 'failed'
}

/** The facilitator's answers if an error keeps it from an outcome. */
const REPEATABLE: ReadonlySet<unknown> = new Set(['SETTLEMENT_FAILED', 'VERIFICATION_FAILED'])

/** At most a second, so that a recovery is seen when it happens. */
const pauseAfter = ({ headers }: Answer) => {
  const seconds = Number(headers['retry-after'])
  return seconds > 0 ? Math.min(seconds * 1000, MAX_PAUSE_MS) : AFTER_FAILURE_MS
}

function objectIn(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
