import { callWithActiveSpan, type Span } from '@tollgate/service'
import { type Endpoint } from '../../catalog/catalog'
import { classifyAnswer, type BatchResponses, type ResponseClass } from './classify-answer'
import { hideSecrets } from './hide-secrets'
import { isOfTheCall, type RefusalKind } from './provider-refusals'
import { recogniseSent } from './recognise-sent'
import { exchange, type Answer, type Caller, type UpstreamExchange } from './upstream-exchange'
import { type UpstreamError } from './upstream-metrics'
import { buildRequest, type UpstreamRequest } from './upstream-request'
import { type Upstreams } from './upstreams'

export type Client = { caller: Caller; wallet: string; span?: Span | undefined }

/** What an upstream served of a batch. */
export type PartOfBatch = { answer: Answer; batch: BatchResponses }

export type Failure = 'reset' | 'timeout' | Exclude<ResponseClass['outcome'], 'served'>

/** `upstreamTimedOut`: it did not answer, or reported a timeout. `isTimeout`: it also held the call for at least half the timeout. */
export type Attempt =
  | { outcome: 'served'; answer: Answer; batch: BatchResponses | undefined }
  | { outcome: 'unsent' }
  | { outcome: 'abandoned'; wasSent: boolean }
  | {
      outcome: Failure
      upstreamTimedOut: boolean
      isTimeout: boolean
      nodeError?: Answer
      refusal?: RefusalKind
      part?: PartOfBatch
    }

/** `isRepeat`: an earlier attempt reached an upstream. */
export type AttemptOptions = Client & {
  upstreams: Upstreams
  outgoing: UpstreamRequest
  timeoutMs: number
  responseTimeoutMs: number
  isRepeat: boolean
}

/** Sends the call to one upstream, and records for its circuit whether it served it. `span`: of the attempt. */
export function attemptAt(
  endpoint: Endpoint,
  options: AttemptOptions,
  traceparent?: string,
): Promise<Attempt> {
  const { upstreams, outgoing, caller, wallet, span, timeoutMs, responseTimeoutMs } = options
  const request = buildRequest(endpoint, outgoing, traceparent)
  const slot = upstreams.slotAt(String(request.origin), wallet)
  const startedAt = performance.now()
  const { secrets } = endpoint
  const exchanging = exchange(upstreams.dispatcher, request, { timeoutMs, responseTimeoutMs, caller, slot })
  const exchanged = secrets.length > 0 ? exchanging.then((given) => hideSecrets(given, secrets)) : exchanging
  return exchanged.then((given) => callWithActiveSpan(span, () => judge(endpoint, given, options, startedAt)))
}

/** The span names the provider only: a base URL can hold a key. */
export async function attemptTraced(
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
    ...('refusal' in attempt ? { 'tollgate.refusal': attempt.refusal } : {}),
    ...('answer' in attempt ? { 'http.response.status_code': attempt.answer.status } : {}),
  })
  if (attempt.outcome !== 'served') span.fail(attempt.outcome)
  span.end()
  return attempt
}

function judge(
  endpoint: Endpoint,
  exchanged: UpstreamExchange,
  options: AttemptOptions,
  startedAt: number,
): Attempt | Promise<Attempt> {
  const { upstreams, outgoing, span } = options
  if (exchanged.outcome === 'abandoned') return exchanged
  if (exchanged.outcome !== 'answered') {
    upstreams.recordFailure(endpoint.baseUrl)
    upstreams.metrics.failed(endpoint, exchanged.outcome)
    if (exchanged.outcome === 'unsent') return { outcome: 'unsent' }
    const isTimeout = exchanged.outcome === 'timeout'
    return { outcome: exchanged.outcome, upstreamTimedOut: isTimeout, isTimeout }
  }

  const { answer } = exchanged
  upstreams.metrics.answered(endpoint, (performance.now() - startedAt) / 1000)
  if (options.isRepeat && outgoing.kind === 'idempotent')
    return judgeRepeat(endpoint, answer, options, startedAt)
  const response = classifyAnswer(answer, outgoing)
  if ('outcome' in response) return attemptOf(endpoint, { answer, response }, options, startedAt)
  return response.then((awaited) =>
    callWithActiveSpan(span, () => attemptOf(endpoint, { answer, response: awaited }, options, startedAt)),
  )
}

/** The first upstream may have taken a transaction that this one knows already. */
async function judgeRepeat(
  endpoint: Endpoint,
  answer: Answer,
  options: AttemptOptions,
  startedAt: number,
): Promise<Attempt> {
  const { upstreams, outgoing, caller, wallet, timeoutMs } = options
  const recognised = await recogniseSent(answer, outgoing, async (lookup) => {
    const request = buildRequest(endpoint, lookup)
    const slot = upstreams.slotAt(String(request.origin), wallet)
    const found = await exchange(upstreams.dispatcher, request, { timeoutMs, caller, slot })
    if (found.outcome !== 'answered') return undefined
    found.answer.rest?.destroy()
    return found.answer
  })
  const response = await classifyAnswer(recognised, outgoing)
  return callWithActiveSpan(options.span, () =>
    attemptOf(endpoint, { answer: recognised, response }, options, startedAt),
  )
}

function attemptOf(
  endpoint: Endpoint,
  { answer, response }: { answer: Answer; response: ResponseClass },
  { upstreams, timeoutMs }: AttemptOptions,
  startedAt: number,
): Attempt {
  const { baseUrl } = endpoint
  if (response.outcome === 'served') {
    upstreams.recordSuccess(baseUrl)
    return { outcome: 'served', answer, batch: response.batch }
  }
  if (response.outcome === 'refused' && isOfTheCall(response.refusal)) upstreams.recordSuccess(baseUrl)
  else upstreams.recordFailure(baseUrl, retryAfterOf(answer))
  upstreams.metrics.failed(endpoint, errorKindOf(response))
  if (response.outcome !== 'error') answer.rest?.destroy()
  const upstreamTimedOut = response.outcome === 'failed' && response.isTimeout
  const batch = response.outcome === 'refused' ? response.batch : undefined
  return {
    outcome: response.outcome,
    upstreamTimedOut,
    // A timeout status returned at once is an outage of the upstream, not a call that blocked it.
    isTimeout: upstreamTimedOut && performance.now() - startedAt >= timeoutMs / 2,
    ...(response.outcome === 'error' ? { nodeError: answer } : {}),
    ...(response.outcome === 'refused' ? { refusal: response.refusal } : {}),
    ...(batch ? { part: { answer, batch } } : {}),
  }
}

function errorKindOf(response: Exclude<ResponseClass, { outcome: 'served' }>): UpstreamError {
  if (response.outcome === 'refused') return response.refusal
  return response.outcome === 'error' ? 'node_error' : 'failed'
}

const retryAfterOf = ({ headers }: Answer) => [headers['retry-after']].flat()[0]
