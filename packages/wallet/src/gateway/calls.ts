import { TollgateError } from '../errors.js'
import { type Http, type Send } from '../http.js'
import { pause } from '../stops.js'
import { isSessionEnd, refusalOf, retryAfterMs, type GatewayClient } from './gateway-client.js'
import { type Purchases } from './purchases.js'
import { type Session, type Sessions } from './sessions.js'

/** Of one call: enough for other calls to use up what was bought, again and again, and an end for what never succeeds. */
const MAX_ATTEMPTS = 20
/** For one call. */
const MAX_PURCHASES = 2
const MAX_RENEWALS = 2
/**
 * A call that costs more than a whole purchase would be bought for again and again. One refusal with as many credits does not show
 * that: another call may have bought them just then.
 */
const MAX_REFUSED_WITH_CREDITS = 3
const DEFAULT_PAUSE_MS = 1_000

/** Calls in the session of the wallet, which buy credits when there are none. */
export function createCalls(parts: {
  gateway: GatewayClient
  http: Http
  sessions: Sessions
  purchases: Purchases
  now: () => number
  closed: AbortSignal
}) {
  const { gateway, http, sessions, purchases, now, closed } = parts

  /**
   * The gateway's answer, whatever its status but 402 and an ended session. The request is sent again only if it was not served.
   *
   * @param path below the gateway's URL
   */
  async function call(path: string, send: Send): Promise<Response> {
    const { signal } = send
    let session = await sessions.open(signal)
    const tried = new Set<number>()
    let purchased = 0
    let refusedWithCredits = 0
    let renewed = 0
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const sentAt = now()
      const headers = { ...send.headers, authorization: `Bearer ${session.token}` }
      const answer = await http.send(`${gateway.url}${path}`, { ...send, headers })
      const next = await nextStep(answer, signal)
      if (next === 'return') return answer
      if (next === 'renew') {
        if (++renewed > MAX_RENEWALS) return answer
        session = await sessions.renew(session, signal)
      } else if (next === 'buy') {
        tried.add(session.plan.id)
        session = await sessions.openOther(tried, signal)
        if (!tried.has(session.plan.id)) continue
        if (attempt > 0 && (await hasWholePurchase(session, signal))) {
          if (++refusedWithCredits === MAX_REFUSED_WITH_CREDITS) throw tooDear(session)
          await pause(DEFAULT_PAUSE_MS, { closed, signal })
          continue
        }
        refusedWithCredits = 0
        if (purchased === MAX_PURCHASES) throw notServed(`after ${purchased} purchases`)
        if (await purchases.buyAfter(session, sentAt, signal)) purchased += 1
      } else await pause(retryAfterMs(answer) ?? DEFAULT_PAUSE_MS, { closed, signal })
    }
    throw notServed(`in ${MAX_ATTEMPTS} attempts`)
  }

  async function hasWholePurchase(
    { address, plan }: Session,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const balances = await gateway.credits(address, signal)
    const left = balances.find(({ pricing_plan_id }) => pricing_plan_id === plan.id)?.remaining_credits ?? 0
    return left >= plan.credits
  }

  /** Reads only the bodies of answers that are not returned. */
  async function nextStep(
    answer: Response,
    signal: AbortSignal | undefined,
  ): Promise<'return' | 'renew' | 'buy' | 'wait'> {
    const { status } = answer
    if (status === 402) return 'buy'
    const isOwn = !answer.headers.has('x-credits-charged')
    if (!isOwn || (status !== 401 && status !== 403 && status !== 503)) return 'return'
    const refusal = refusalOf(answer, await http.readJson(answer.clone(), { signal }))
    if (isSessionEnd(refusal)) return 'renew'
    return refusal.details['code'] === 'PAYMENT_PENDING' ? 'wait' : 'return'
  }

  return { call }
}

const tooDear = ({ plan }: Session) =>
  new TollgateError(
    'INVALID_ARGUMENT',
    `The call costs more than the ${plan.credits} credits of a purchase; send smaller batches, or buy() first`,
  )

const notServed = (when: string) =>
  new TollgateError(
    'GATEWAY_ERROR',
    `The gateway did not serve the call ${when}; see credits() and payments()`,
  )
