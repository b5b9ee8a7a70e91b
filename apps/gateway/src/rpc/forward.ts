import { exchange, type Answer, type Exchange } from './exchange'
import { type Kind } from './methods'
import { requestTo, type Outgoing } from './outgoing'
import { type Upstreams } from './upstreams'

/** What a call came to: an answer; none from any upstream; or its caller left, before or after it was sent to one. */
export type Forwarded =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'failed' }
  | Extract<Exchange, { outcome: 'abandoned' }>

export type Forward = ReturnType<typeof createForward>

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
 * Forwards a call to the first upstream that answers. Another upstream is tried only where the call provably was not
 * carried out, or does no harm when it is carried out twice. Redirects are answers that are not followed, and count as
 * none. `caller` is aborted when the caller leaves, which ends whatever is under way for it; `wallet` is whose call it is.
 */
export function createForward(upstreams: Upstreams, timeoutMs: number) {
  return async (
    outgoing: Outgoing,
    baseUrls: readonly string[],
    { caller, wallet }: { caller: AbortSignal; wallet: string },
  ): Promise<Forwarded> => {
    const { kind } = outgoing
    let wasSent = false
    let last: Answer | undefined
    for (const baseUrl of upstreams.inTurn(baseUrls)) {
      const request = requestTo(baseUrl, outgoing)
      const turn = upstreams.turnAt(String(request.origin), wallet)
      const exchanged = await exchange(upstreams.dispatcher, request, { timeoutMs, caller, turn })
      if (exchanged.outcome === 'abandoned') {
        last?.rest?.destroy()
        return { outcome: 'abandoned', wasSent: wasSent || exchanged.wasSent }
      }
      if (exchanged.outcome !== 'unsent') wasSent = true
      if (exchanged.outcome !== 'answered') {
        upstreams.failed(baseUrl)
        if (mayTryAgain(kind, exchanged.outcome)) continue
        return { outcome: 'failed' }
      }
      last?.rest?.destroy()
      last = exchanged.answer
      if (isServed(last)) upstreams.served(baseUrl)
      else upstreams.failed(baseUrl, retryAfterOf(last))
      if (isServed(last) || kind !== 'read') break
    }
    if (last && !isRedirect(last)) return { outcome: 'answered', answer: withReturned(last) }
    last?.rest?.destroy()
    return { outcome: 'failed' }
  }
}

/** A 304 leads nowhere else. */
const isRedirect = ({ status }: Answer) => status >= 300 && status < 400 && status !== 304
const isServed = (answer: Answer) => !isRedirect(answer) && answer.status !== 429 && answer.status < 500

const retryAfterOf = ({ headers }: Answer) => [headers['retry-after']].flat()[0]

const mayTryAgain = (kind: Kind, failure: 'unsent' | 'reset' | 'timeout') =>
  failure === 'unsent' || kind === 'read' || (kind === 'idempotent' && failure === 'reset')

function withReturned({ headers, ...answer }: Answer): Answer {
  const kept: Answer['headers'] = {}
  for (const name of returned) if (headers[name] !== undefined) kept[name] = headers[name]
  return { ...answer, headers: kept }
}
