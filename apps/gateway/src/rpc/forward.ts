import { exchange, type Answer, type Exchange } from './exchange'
import { type Kind } from './methods'
import { requestTo, type Outgoing } from './outgoing'
import { verdictOf, type Verdict } from './upstream-answer'
import { type Upstreams } from './upstreams'

/**
 * What a call came to: an answer; none from any upstream, in which case `isTimeout` says that one held the call for
 * half the timeout or longer; or its caller left, before or after it was sent to one.
 */
export type Forwarded =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'failed'; isTimeout: boolean }
  | Extract<Exchange, { outcome: 'abandoned' }>

/** A base URL and the provider that it belongs to. */
export type Target = { provider: string; baseUrl: string }

export type Forward = ReturnType<typeof createForward>

/** To how many upstreams one call is sent at most. One that provably was not sent does not count. */
const MAX_SENT = 3
/** Of the timeout of one upstream: how long a call may take until its answer begins. */
const MAX_TIMEOUTS = 2

/** The headers that come back. All others, cookies and addresses among them, are between the upstream and us. */
const returned = [
  'content-type',
  'content-encoding',
  'content-language',
  'etag',
  'last-modified',
  'grpc-metadata-x-cosmos-block-height',
]

/**
 * Forwards a call to the first upstream that serves it. Another upstream is tried only where the call provably was not
 * carried out, or does no harm when it is carried out twice; after a timeout, only one more. An error
 * that a node reports is the answer where no upstream does better. Redirects are not followed and count as failures.
 * `caller` is aborted when the caller leaves, which ends whatever is under way for it; `wallet` is whose call it is.
 */
export function createForward(upstreams: Upstreams, timeoutMs: number) {
  return async (
    outgoing: Outgoing,
    targets: readonly Target[],
    { caller, wallet }: { caller: AbortSignal; wallet: string },
  ): Promise<Forwarded> => {
    const { kind, transport } = outgoing
    const deadline = performance.now() + MAX_TIMEOUTS * timeoutMs
    const attempts = createAttempts(targets)
    let wasSent = false
    let isTimeout = false
    let nodeError: Answer | undefined

    for (const baseUrl of upstreams.inTurn(attempts.baseUrls)) {
      if (!attempts.mayTry(baseUrl)) continue
      const withinMs = Math.min(timeoutMs, deadline - performance.now())
      if (withinMs < timeoutMs / 10) break
      const request = requestTo(baseUrl, outgoing)
      const turn = upstreams.turnAt(String(request.origin), wallet)
      const options = { timeoutMs, withinMs, caller, turn }
      const askedAt = performance.now()
      const exchanged = await exchange(upstreams.dispatcher, request, options)
      if (exchanged.outcome === 'abandoned')
        return { outcome: 'abandoned', wasSent: wasSent || exchanged.wasSent }
      if (exchanged.outcome === 'unsent') {
        upstreams.failed(baseUrl)
        continue
      }
      wasSent = true
      const failure = exchanged.outcome
      if (failure !== 'answered') {
        upstreams.failed(baseUrl)
        attempts.sent(baseUrl, failure === 'timeout')
        isTimeout ||= failure === 'timeout'
        if (mayTryAgain(kind, failure)) continue
        break
      }
      const { answer } = exchanged
      const verdict = await verdictOf(answer, transport)
      if (verdict.outcome === 'served') {
        upstreams.served(baseUrl)
        return { outcome: 'answered', answer: withReturned(answer) }
      }
      upstreams.failed(baseUrl, retryAfterOf(answer))
      const gaveUp = verdict.outcome === 'failed' && verdict.isTimeout
      attempts.sent(baseUrl, gaveUp)
      // One that says so at once has an outage of its own, and the call held nothing up.
      isTimeout ||= gaveUp && performance.now() - askedAt >= timeoutMs / 2
      if (verdict.outcome === 'error') nodeError = answer
      else answer.rest?.destroy()
      if (!mayTryAgain(kind, verdict.outcome)) break
    }
    if (nodeError) return { outcome: 'answered', answer: withReturned(nodeError) }
    return { outcome: 'failed', isTimeout }
  }
}

/** Which upstreams a call may still be sent to: see {@link MAX_SENT}; after a timeout only one more, of another provider if there is one. */
function createAttempts(targets: readonly Target[]) {
  const providers = new Map<string, string>()
  for (const { provider, baseUrl } of targets) if (!providers.has(baseUrl)) providers.set(baseUrl, provider)
  const hasOthers = new Set(providers.values()).size > 1
  const timedOut = new Set<string | undefined>()
  let left = MAX_SENT
  return {
    baseUrls: [...providers.keys()],
    mayTry: (baseUrl: string) => left > 0 && !(hasOthers && timedOut.has(providers.get(baseUrl))),
    sent(baseUrl: string, isTimeout: boolean) {
      left--
      if (timedOut.size > 0) left = 0
      if (!isTimeout) return
      left = Math.min(left, 1)
      timedOut.add(providers.get(baseUrl))
    },
  }
}

const retryAfterOf = ({ headers }: Answer) => [headers['retry-after']].flat()[0]

type Failure = 'reset' | 'timeout' | Exclude<Verdict['outcome'], 'served'>

/** A provider that refused the gateway did not carry the call out; a write does not rely even on that. */
const mayTryAgain = (kind: Kind, failure: Failure) =>
  kind === 'read' || (kind === 'idempotent' && (failure === 'reset' || failure === 'refused'))

function withReturned({ headers, ...answer }: Answer): Answer {
  const kept: Answer['headers'] = {}
  for (const name of returned) if (headers[name] !== undefined) kept[name] = headers[name]
  return { ...answer, headers: kept }
}
