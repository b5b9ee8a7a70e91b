import { callWithActiveSpan, type Span } from '@tollgate/service'
import { type Endpoint } from '../../catalog/catalog'
import { exchange, type Answer, type Caller, type UpstreamExchange } from './upstream-exchange'
import { type CallKind } from '../call-kind'
import { MAX_TOTAL_TIMEOUTS } from './max-total-timeouts'
import { buildRequest, type UpstreamRequest } from './upstream-request'
import { classifyFailure, isServed, type ResponseClass } from './upstream-response'
import { type Upstreams } from './upstreams'

/** `isTimeout`: an upstream held the failed call for at least half the timeout. `abandoned`: the caller disconnected. */
export type Forwarded =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'failed'; isTimeout: boolean }
  | Extract<UpstreamExchange, { outcome: 'abandoned' }>

type Client = { caller: Caller; wallet: string; span?: Span | undefined }

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
 * repeat; after a timeout, once. An error that a node reports is the answer if no upstream serves the call. Redirects count as
 * failures. `isTraced`: whether upstreams get a `traceparent`.
 */
export function createForward(upstreams: Upstreams, timeoutMs: number, { isTraced = false } = {}) {
  return async (
    outgoing: UpstreamRequest,
    endpoints: readonly Endpoint[],
    { caller, wallet, span }: Client,
  ): Promise<Forwarded> => {
    const deadline = performance.now() + MAX_TOTAL_TIMEOUTS * timeoutMs
    const attempts = createAttempts(endpoints)
    let wasSent = false
    let isTimeout = false
    let nodeError: Answer | undefined

    for (const baseUrl of upstreams.candidates(attempts.baseUrls)) {
      if (!attempts.canTry(baseUrl)) continue
      const responseTimeoutMs = Math.min(timeoutMs, deadline - performance.now())
      if (responseTimeoutMs < timeoutMs / 10) break
      const options = { upstreams, outgoing, caller, wallet, timeoutMs, responseTimeoutMs }
      const endpoint = attempts.endpointOf(baseUrl)
      const attempt = span
        ? await attemptTraced(span, endpoint, { ...options, isTraced })
        : await attemptAt(endpoint, options)
      if (attempt.outcome === 'unsent') continue
      if (attempt.outcome === 'abandoned')
        return { outcome: 'abandoned', wasSent: wasSent || attempt.wasSent }
      if (attempt.outcome === 'served')
        return { outcome: 'answered', answer: withReturnedHeaders(attempt.answer) }
      wasSent = true
      attempts.recordSent(baseUrl, attempt.upstreamTimedOut)
      isTimeout ||= attempt.isTimeout
      nodeError = attempt.nodeError ?? nodeError
      if (!isRetryable(outgoing.kind, attempt.outcome)) break
    }
    if (nodeError) return { outcome: 'answered', answer: withReturnedHeaders(nodeError) }
    return { outcome: 'failed', isTimeout }
  }
}

/** `upstreamTimedOut`: it did not answer, or reported a timeout. `isTimeout`: it also held the call for at least half the timeout. */
type Attempt =
  | { outcome: 'served'; answer: Answer }
  | { outcome: 'unsent' }
  | { outcome: 'abandoned'; wasSent: boolean }
  | { outcome: Failure; upstreamTimedOut: boolean; isTimeout: boolean; nodeError?: Answer }

type AttemptOptions = Client & {
  upstreams: Upstreams
  outgoing: UpstreamRequest
  timeoutMs: number
  responseTimeoutMs: number
}

/** Sends the call to one upstream, and records for its circuit whether it served it. `span`: of the attempt. */
function attemptAt(endpoint: Endpoint, options: AttemptOptions, traceparent?: string): Promise<Attempt> {
  const { upstreams, outgoing, caller, wallet, span, timeoutMs, responseTimeoutMs } = options
  const request = buildRequest(endpoint.baseUrl, outgoing, traceparent)
  const slot = upstreams.slotAt(String(request.origin), wallet)
  const startedAt = performance.now()
  return exchange(upstreams.dispatcher, request, { timeoutMs, responseTimeoutMs, caller, slot }).then(
    (exchanged) => callWithActiveSpan(span, () => judge(endpoint, exchanged, options, startedAt)),
  )
}

/** The span names the provider only: a base URL can hold a key. */
async function attemptTraced(
  parent: Span,
  endpoint: Endpoint,
  { isTraced, ...options }: AttemptOptions & { isTraced: boolean },
): Promise<Attempt> {
  const { provider } = endpoint
  const span = parent.child(`upstream ${provider}`, {
    kind: 'client',
    attributes: { 'tollgate.provider': provider },
  })
  const traceparent = isTraced ? span.traceparent : undefined
  const attempt = await attemptAt(endpoint, { ...options, span }, traceparent)
  span.set({
    'tollgate.outcome': attempt.outcome,
    ...('answer' in attempt ? { 'http.response.status_code': attempt.answer.status } : {}),
  })
  if (attempt.outcome !== 'served') span.fail(attempt.outcome)
  span.end()
  return attempt
}

function judge(
  endpoint: Endpoint,
  exchanged: UpstreamExchange,
  { upstreams, outgoing, span, timeoutMs }: AttemptOptions,
  startedAt: number,
): Attempt | Promise<Attempt> {
  const { baseUrl } = endpoint
  if (exchanged.outcome === 'abandoned') return exchanged
  if (exchanged.outcome !== 'answered') {
    upstreams.recordFailure(baseUrl)
    upstreams.metrics.failed(endpoint, exchanged.outcome)
    if (exchanged.outcome === 'unsent') return { outcome: 'unsent' }
    const isTimeout = exchanged.outcome === 'timeout'
    return { outcome: exchanged.outcome, upstreamTimedOut: isTimeout, isTimeout }
  }

  const { answer } = exchanged
  upstreams.metrics.answered(endpoint, (performance.now() - startedAt) / 1000)
  if (isServed(answer.status)) {
    upstreams.recordSuccess(baseUrl)
    return { outcome: 'served', answer }
  }
  return classifyFailure(answer, outgoing.transport).then((failure) => {
    callWithActiveSpan(span, () => {
      upstreams.recordFailure(baseUrl, retryAfterOf(answer))
      upstreams.metrics.failed(endpoint, failure.outcome === 'error' ? 'node_error' : failure.outcome)
    })
    if (failure.outcome !== 'error') answer.rest?.destroy()
    const upstreamTimedOut = failure.outcome === 'failed' && failure.isTimeout
    return {
      outcome: failure.outcome,
      upstreamTimedOut,
      // A timeout status returned at once is an outage of the upstream, not a call that blocked it.
      isTimeout: upstreamTimedOut && performance.now() - startedAt >= timeoutMs / 2,
      ...(failure.outcome === 'error' ? { nodeError: answer } : {}),
    }
  })
}

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

const retryAfterOf = ({ headers }: Answer) => [headers['retry-after']].flat()[0]

type Failure = 'reset' | 'timeout' | ResponseClass['outcome']

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
