import { exchange, type Answer, type UpstreamExchange } from './upstream-exchange'
import { type CallKind } from '../call-kind'
import { buildRequest, type UpstreamRequest } from './upstream-request'
import { classifyResponse, type ResponseClass } from './upstream-response'
import { type Upstreams } from './upstreams'

/** `isTimeout`: an upstream held the failed call for at least half the timeout. `abandoned`: the caller disconnected. */
export type Forwarded =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'failed'; isTimeout: boolean }
  | Extract<UpstreamExchange, { outcome: 'abandoned' }>

export type Target = { provider: string; baseUrl: string }

export type Forward = ReturnType<typeof createForward>

/** Attempts that provably sent nothing do not count. */
const MAX_ATTEMPTS = 3
/** Limits the time to the first byte of an answer, as a multiple of an upstream's timeout. */
const MAX_TOTAL_TIMEOUTS = 2

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
 * failures.
 */
export function createForward(upstreams: Upstreams, timeoutMs: number) {
  return async (
    outgoing: UpstreamRequest,
    targets: readonly Target[],
    { caller, wallet }: { caller: AbortSignal; wallet: string },
  ): Promise<Forwarded> => {
    const { kind, transport } = outgoing
    const deadline = performance.now() + MAX_TOTAL_TIMEOUTS * timeoutMs
    const attempts = createAttempts(targets)
    let wasSent = false
    let isTimeout = false
    let nodeError: Answer | undefined

    for (const baseUrl of upstreams.candidates(attempts.baseUrls)) {
      if (!attempts.canTry(baseUrl)) continue
      const responseTimeoutMs = Math.min(timeoutMs, deadline - performance.now())
      if (responseTimeoutMs < timeoutMs / 10) break
      const request = buildRequest(baseUrl, outgoing)
      const slot = upstreams.slotAt(String(request.origin), wallet)
      const options = { timeoutMs, responseTimeoutMs, caller, slot }
      const startedAt = performance.now()
      const exchanged = await exchange(upstreams.dispatcher, request, options)
      if (exchanged.outcome === 'abandoned')
        return { outcome: 'abandoned', wasSent: wasSent || exchanged.wasSent }
      if (exchanged.outcome === 'unsent') {
        upstreams.recordFailure(baseUrl)
        continue
      }
      wasSent = true
      const failure = exchanged.outcome
      if (failure !== 'answered') {
        upstreams.recordFailure(baseUrl)
        attempts.recordSent(baseUrl, failure === 'timeout')
        isTimeout ||= failure === 'timeout'
        if (isRetryable(kind, failure)) continue
        break
      }
      const { answer } = exchanged
      const responseClass = await classifyResponse(answer, transport)
      if (responseClass.outcome === 'served') {
        upstreams.recordSuccess(baseUrl)
        return { outcome: 'answered', answer: withReturnedHeaders(answer) }
      }
      upstreams.recordFailure(baseUrl, retryAfterOf(answer))
      const upstreamTimedOut = responseClass.outcome === 'failed' && responseClass.isTimeout
      attempts.recordSent(baseUrl, upstreamTimedOut)
      // A timeout status returned at once is an outage of the upstream, not a call that blocked it.
      isTimeout ||= upstreamTimedOut && performance.now() - startedAt >= timeoutMs / 2
      if (responseClass.outcome === 'error') nodeError = answer
      else answer.rest?.destroy()
      if (!isRetryable(kind, responseClass.outcome)) break
    }
    if (nodeError) return { outcome: 'answered', answer: withReturnedHeaders(nodeError) }
    return { outcome: 'failed', isTimeout }
  }
}

/** Allows at most MAX_ATTEMPTS; after a timeout one more, at another provider if there is one. */
function createAttempts(targets: readonly Target[]) {
  const providers = new Map<string, string>()
  for (const { provider, baseUrl } of targets) if (!providers.has(baseUrl)) providers.set(baseUrl, provider)
  const hasOthers = new Set(providers.values()).size > 1
  const timedOut = new Set<string | undefined>()
  let remaining = MAX_ATTEMPTS
  return {
    baseUrls: [...providers.keys()],
    canTry: (baseUrl: string) => remaining > 0 && !(hasOthers && timedOut.has(providers.get(baseUrl))),
    recordSent(baseUrl: string, isTimeout: boolean) {
      remaining--
      if (timedOut.size > 0) remaining = 0
      if (!isTimeout) return
      remaining = Math.min(remaining, 1)
      timedOut.add(providers.get(baseUrl))
    },
  }
}

const retryAfterOf = ({ headers }: Answer) => [headers['retry-after']].flat()[0]

type Failure = 'reset' | 'timeout' | Exclude<ResponseClass['outcome'], 'served'>

/** A provider that refused the gateway did not execute the call, but a write does not rely on that. */
const isRetryable = (kind: CallKind, failure: Failure) =>
  kind === 'read' || (kind === 'idempotent' && (failure === 'reset' || failure === 'refused'))

function withReturnedHeaders({ headers, ...answer }: Answer): Answer {
  const kept: Answer['headers'] = {}
  for (const name of RETURNED_HEADERS) if (headers[name] !== undefined) kept[name] = headers[name]
  return { ...answer, headers: kept }
}
