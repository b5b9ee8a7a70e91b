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

/** `provider`: the key of a provider in the configuration. */
export type Endpoint = { provider: string; baseUrl: string }

type Client = { caller: AbortSignal; wallet: string }

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
    endpoints: readonly Endpoint[],
    client: Client,
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
      const timeouts = { timeoutMs, responseTimeoutMs }
      const attempt = await attemptAt(baseUrl, { upstreams, outgoing, client, timeouts })
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

type AttemptOptions = {
  upstreams: Upstreams
  outgoing: UpstreamRequest
  client: Client
  timeouts: { timeoutMs: number; responseTimeoutMs: number }
}

/** Sends the call to one upstream, and records for its circuit whether it served it. */
async function attemptAt(
  baseUrl: string,
  { upstreams, outgoing, client: { caller, wallet }, timeouts }: AttemptOptions,
): Promise<Attempt> {
  const request = buildRequest(baseUrl, outgoing)
  const slot = upstreams.slotAt(String(request.origin), wallet)
  const startedAt = performance.now()
  const exchanged = await exchange(upstreams.dispatcher, request, { ...timeouts, caller, slot })
  if (exchanged.outcome === 'abandoned') return exchanged
  if (exchanged.outcome !== 'answered') {
    upstreams.recordFailure(baseUrl)
    if (exchanged.outcome === 'unsent') return { outcome: 'unsent' }
    const isTimeout = exchanged.outcome === 'timeout'
    return { outcome: exchanged.outcome, upstreamTimedOut: isTimeout, isTimeout }
  }

  const { answer } = exchanged
  const response = await classifyResponse(answer, outgoing.transport)
  if (response.outcome === 'served') {
    upstreams.recordSuccess(baseUrl)
    return { outcome: 'served', answer }
  }
  upstreams.recordFailure(baseUrl, retryAfterOf(answer))
  if (response.outcome !== 'error') answer.rest?.destroy()
  const upstreamTimedOut = response.outcome === 'failed' && response.isTimeout
  return {
    outcome: response.outcome,
    upstreamTimedOut,
    // A timeout status returned at once is an outage of the upstream, not a call that blocked it.
    isTimeout: upstreamTimedOut && performance.now() - startedAt >= timeouts.timeoutMs / 2,
    ...(response.outcome === 'error' ? { nodeError: answer } : {}),
  }
}

/** Allows at most MAX_ATTEMPTS; after a timeout one more, at another provider if there is one. */
function createAttempts(endpoints: readonly Endpoint[]) {
  const providers = new Map<string, string>()
  for (const { provider, baseUrl } of endpoints) if (!providers.has(baseUrl)) providers.set(baseUrl, provider)
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
