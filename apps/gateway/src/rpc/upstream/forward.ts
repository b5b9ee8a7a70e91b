import { type Endpoint } from '../../catalog/catalog'
import { type CallKind } from '../call-kind'
import {
  attemptAt,
  attemptTraced,
  type Attempt,
  type Client,
  type Failure,
  type PartOfBatch,
} from './attempt-at'
import { createBatchInPart, dominant, type BatchInPart } from './batch-in-part'
import { type BatchResponses } from './classify-answer'
import { MAX_TOTAL_TIMEOUTS } from './max-total-timeouts'
import { type RefusalKind } from './provider-refusals'
import { type Answer, type UpstreamExchange } from './upstream-exchange'
import { type UpstreamRequest } from './upstream-request'
import { type Upstreams } from './upstreams'

/**
 * `batch`: its responses, if some are errors. `isTimeout`: an upstream held the failed call for at least half the timeout.
 * `refusal`: why the providers that were reached refused it. `abandoned`: the caller disconnected.
 */
export type Forwarded =
  | Served
  | { outcome: 'failed'; isTimeout: boolean; refusal?: RefusalKind | undefined }
  | Extract<UpstreamExchange, { outcome: 'abandoned' }>

type Served = { outcome: 'answered'; answer: Answer; batch?: BatchResponses | undefined }

export type Forward = ReturnType<typeof createForward>

/** Attempts that provably sent nothing do not count. */
const MAX_ATTEMPTS = 3

/** Other headers, such as cookies and addresses, are not passed on. */
const RETURNED_HEADERS = [
  'content-type',
  'content-encoding',
  'content-language',
  'etag',
  'last-modified',
  'grpc-metadata-x-cosmos-block-height',
]

/**
 * Forwards a call to the first upstream that serves it. Retries only if the call was provably not executed or is safe to
 * repeat; after a timeout, once. Of a batch that was served in part, only the rest goes to the next upstream. That part, or an error
 * that a node reports, is the answer if no upstream serves the call. Redirects count as failures. `isTraced`: whether upstreams get a
 * `traceparent`.
 */
export function createForward(upstreams: Upstreams, timeoutMs: number, { isTraced = false } = {}) {
  return async (
    outgoing: UpstreamRequest,
    endpoints: readonly Endpoint[],
    { caller, wallet, span }: Client,
  ): Promise<Forwarded> => {
    const deadline = performance.now() + MAX_TOTAL_TIMEOUTS * timeoutMs
    const attempts = createAttempts(endpoints)
    const progress = createProgress(outgoing)
    let wasSent = false

    for (const baseUrl of upstreams.candidates(attempts.baseUrls)) {
      if (!attempts.canTry(baseUrl)) continue
      const responseTimeoutMs = Math.min(timeoutMs, deadline - performance.now())
      if (responseTimeoutMs < timeoutMs / 10) break
      const asked = { upstreams, outgoing: progress.request(), caller, wallet }
      const options = { ...asked, timeoutMs, responseTimeoutMs, isRepeat: wasSent }
      const endpoint = attempts.endpointOf(baseUrl)
      const attempt = span
        ? await attemptTraced(span, endpoint, { ...options, span, isTraced })
        : await attemptAt(endpoint, options)
      if (attempt.outcome === 'unsent') continue
      if (attempt.outcome === 'abandoned')
        return { outcome: 'abandoned', wasSent: wasSent || attempt.wasSent }
      const answered = await progress.record(attempt)
      if (answered) return answered
      wasSent = true
      attempts.recordSent(baseUrl, attempt.outcome !== 'served' && attempt.upstreamTimedOut)
      if (attempt.outcome !== 'served' && !isRetryable(outgoing.kind, attempt.outcome)) break
    }
    return progress.conclude()
  }
}

type SentAttempt = Exclude<Attempt, { outcome: 'unsent' | 'abandoned' }>

/** What the next upstream is asked, and what is answered if none serves the call. */
function createProgress(outgoing: UpstreamRequest) {
  let isTimeout = false
  let nodeError: Answer | undefined
  let refusal: RefusalKind | undefined
  let batch: BatchInPart | undefined

  async function addToBatch(part: PartOfBatch | Omit<Served, 'outcome'>): Promise<Served | undefined> {
    if (!batch) {
      batch = part.batch && createBatchInPart(outgoing, { answer: part.answer, batch: part.batch })
      return batch ? undefined : served(part)
    }
    const streamed = await batch.add(part)
    if (streamed) return served({ answer: streamed })
    return batch.isComplete() ? served(batch.part()) : undefined
  }

  return {
    request: () => batch?.rest() ?? outgoing,
    /** Returns the answer, if the call is served. */
    record(attempt: SentAttempt): Promise<Served | undefined> | Served | undefined {
      if (attempt.outcome === 'served') return batch ? addToBatch(attempt) : served(attempt)
      isTimeout ||= attempt.isTimeout
      nodeError = attempt.nodeError ?? nodeError
      if (attempt.refusal) refusal = dominant(refusal, attempt.refusal)
      if (attempt.part) return addToBatch(attempt.part)
      if (attempt.refusal) batch?.refuse(attempt.refusal)
      return undefined
    },
    conclude(): Forwarded {
      if (batch) return served(batch.part())
      if (nodeError) return served({ answer: nodeError })
      return { outcome: 'failed', isTimeout, refusal }
    },
  }
}

const served = ({ answer, batch }: Omit<Served, 'outcome'>): Served => ({
  outcome: 'answered',
  answer: withReturnedHeaders(answer),
  ...(batch ? { batch } : {}),
})

/** Allows at most MAX_ATTEMPTS; after a timeout one more, at another provider if there is one. */
function createAttempts(endpoints: readonly Endpoint[]) {
  const endpointOf = (url: string) => {
    const endpoint = endpoints.find(({ baseUrl }) => baseUrl === url)
    if (!endpoint) throw new Error('The upstream is not of the route')
    return endpoint
  }
  const providerOf = (url: string) => endpointOf(url).provider
  const hasOthers = endpoints.some(({ provider }) => provider !== endpoints[0]?.provider)
  let timedOut: string | undefined
  let remaining = MAX_ATTEMPTS
  return {
    endpointOf,
    baseUrls: [...new Set(endpoints.map(({ baseUrl }) => baseUrl))],
    canTry: (baseUrl: string) =>
      remaining > 0 && !(hasOthers && timedOut !== undefined && timedOut === providerOf(baseUrl)),
    recordSent(baseUrl: string, isTimeout: boolean) {
      remaining--
      if (timedOut !== undefined) remaining = 0
      if (!isTimeout) return
      remaining = Math.min(remaining, 1)
      timedOut = providerOf(baseUrl)
    },
  }
}

/** A provider that refused the gateway did not execute the call, but a write does not rely on that. */
const isRetryable = (kind: CallKind, failure: Failure) =>
  kind === 'read' || (kind === 'idempotent' && (failure === 'reset' || failure === 'refused'))

function withReturnedHeaders(answer: Answer): Answer {
  const kept: Answer['headers'] = {}
  for (const name of RETURNED_HEADERS) {
    const value = answer.headers[name]
    if (value !== undefined) kept[name] = value
  }
  return { status: answer.status, headers: kept, body: answer.body, rest: answer.rest }
}
