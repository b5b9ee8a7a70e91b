import { TollgateError } from '../errors.js'
import { type Events } from '../events.js'
import { randomId } from '../encoding.js'
import { isLost, type Http } from '../http.js'
import { pause, type Caller } from '../stops.js'
import { retryAfterMs } from '../gateway/gateway-client.js'
import { type WalletStorage } from '../storage/storage.js'
import { isExpired, type PaymentLog, type StoredPayment } from './payment-log.js'
import { parsePaymentRequired, receiptIn, type PaymentRequired } from './payment-required.js'
import { createRecordPaid } from './record-paid.js'
import { type FindRefusal } from './allowance.js'
import { eventOfPayment } from './payment-event.js'
import { announcePending, type PreparePayment } from './prepare-payment.js'

/** A request that can be sent again: to `url`, with headers added. */
export type RepeatableRequest = {
  url: string
  method: string
  body: Uint8Array<ArrayBuffer> | undefined
  signal: AbortSignal
  commit: Caller['commit']
  send(payment?: { url: string; header: Record<string, string> }): Promise<Response>
}

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000
/** Of the body of a 402, which any server may choose. */
const MAX_OFFER_BYTES = 1024 * 1024

/**
 * Pays for single requests, at any x402 resource. A request is paid once: its payment is sent again while its answer is lost.
 * A payment that a crash left behind is used for the next same request.
 */
export function createPayingFetch(parts: {
  http: Http
  payer: () => Promise<string>
  log: PaymentLog
  prepare: PreparePayment
  findRefusal: FindRefusal
  storage: WalletStorage
  events: Events
  now: () => number
  closed: AbortSignal
}) {
  const { http, log, prepare, findRefusal, storage, events, now, closed } = parts
  const recordPaid = createRecordPaid({ log, events, closed })

  return async (request: RepeatableRequest): Promise<Response> => {
    const answer = await request.send()
    if (answer.status !== 402 || isElsewhere(request, answer)) return answer
    const required = await readOffer(answer.clone(), request)
    if (!required) return answer
    const purpose = await purposeOf(request)
    const paid = await payWithAbandoned(request, purpose, required)
    return paid ?? pay({ ...request, url: answer.url || request.url }, purpose, required)
  }

  async function readOffer(answer: Response, { signal }: RepeatableRequest) {
    // The header needs no body, which may never come.
    const receivedAt = now()
    const inHeader = parsePaymentRequired(answer, undefined, receivedAt)
    if (inHeader) return inHeader
    const body = await http.readJson(answer, { signal, maxBytes: MAX_OFFER_BYTES })
    return parsePaymentRequired(answer, body, receivedAt)
  }

  async function pay(
    request: RepeatableRequest,
    purpose: string,
    required: PaymentRequired,
  ): Promise<Response> {
    const id = randomId()
    const { url, signal } = request
    // Locked before it is stored: from then on another same request may find it.
    return storage.lock(lockOf({ id }), async () => {
      const payment = await prepare({ url, purpose, id, required, isSingle: false, signal })
      return deliver(request, payment, { mayBeTaken: false })
    })
  }

  /**
   * Undefined if no payment of this request was left behind. Only by sending it could one learn what became of it, so it is sent only
   * within the limits until it has expired.
   */
  async function payWithAbandoned(
    request: RepeatableRequest,
    purpose: string,
    { clockSkew }: PaymentRequired,
  ): Promise<Response | undefined> {
    const payments = await log.list(await parts.payer())
    for (const payment of payments) {
      if (payment.purpose !== purpose || payment.state !== 'open') continue
      const answer = await storage.tryLock(lockOf(payment), async () => {
        const latest = (await log.list(payment.payer)).find(({ id }) => id === payment.id)
        if (latest?.state !== 'open') return undefined
        const refuse = isExpired(latest, now(), now() + clockSkew) ? undefined : await findRefusal(latest)
        if (refuse) throw refuse()
        return deliver(request, latest, { mayBeTaken: true })
      })
      if (answer) return answer
    }
    return undefined
  }

  /** `mayBeTaken`: sent before, without an answer. */
  async function deliver(
    request: RepeatableRequest,
    payment: StoredPayment,
    { mayBeTaken }: { mayBeTaken: boolean },
  ): Promise<Response> {
    let isUncertain = mayBeTaken
    const announce = announcePending(events, payment)
    if (mayBeTaken) announce()
    for (let attempt = 0; ; attempt += 1) {
      const answer = await sendOnce(request, payment).catch((error: unknown) => {
        announce()
        throw error
      })
      if (answer && isPaid(answer)) return finish(request, payment, answer)
      announce()
      if (answer && !REPEATED.includes(answer.status)) return conclude(request, payment, answer, isUncertain)
      isUncertain = true
      if (isExpired(payment, now())) throw await unknown(payment)
      const backoff = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS)
      const wait = Math.min((answer && retryAfterMs(answer)) ?? backoff, LONGEST_PAUSE_MS)
      await pause(wait, { closed, signal: request.signal })
    }
  }

  /** Undefined if no answer came. */
  async function sendOnce(
    request: RepeatableRequest,
    { url, header = {} }: StoredPayment,
  ): Promise<Response | undefined> {
    try {
      return await request.send({ url, header })
    } catch (error) {
      if (isLost(error)) return undefined
      throw error
    }
  }

  /** An answer that says nothing of the payment, such as 500, leaves it open: the same request would be sent with it again. */
  async function conclude(
    request: RepeatableRequest,
    payment: StoredPayment,
    answer: Response,
    isUncertain: boolean,
  ): Promise<Response> {
    if (answer.status !== 402) return answer
    if (isUncertain) throw await unknown(payment)
    await log.end(payment, 'refused')
    const required = await readOffer(answer, request)
    throw new TollgateError(
      'PAYMENT_REFUSED',
      `The payment was refused (${required?.error ?? 'no reason given'})`,
      {
        details: { ...eventOfPayment(payment), reason: required?.error },
      },
    )
  }

  /** The answer was paid for, and is given out whatever stops. */
  async function finish(
    { commit }: RepeatableRequest,
    payment: StoredPayment,
    answer: Response,
  ): Promise<Response> {
    commit?.()
    const transaction = receiptIn(answer)?.transaction ?? ''
    await recordPaid(payment, transaction)
    return answer
  }

  async function unknown(payment: StoredPayment): Promise<TollgateError> {
    await log.end(payment, 'unknown')
    return new TollgateError('PAYMENT_UNKNOWN', 'A payment may have been taken, and its answer was lost', {
      details: eventOfPayment(payment),
    })
  }
}

/** A redirect led to another origin, or changed the method: what was asked for is not what would be paid. */
const isElsewhere = ({ url, method }: RepeatableRequest, answer: Response): boolean =>
  answer.redirected &&
  (new URL(answer.url).origin !== new URL(url).origin || !['GET', 'HEAD'].includes(method))

const lockOf = ({ id }: Pick<StoredPayment, 'id'>) => `payment/${id}`

const REPEATED: readonly number[] = [425, 429, 502, 503, 504]

const isPaid = (answer: Response) => answer.ok || receiptIn(answer)?.success === true

/** The same for the same method, URL and body. */
async function purposeOf({ method, url, body }: RepeatableRequest): Promise<string> {
  if (!('subtle' in crypto))
    throw new TollgateError('INVALID_ARGUMENT', 'A page pays by `fetch` only where it was opened over https')
  const digest = await crypto.subtle.digest('SHA-256', body ?? new Uint8Array())
  const hash = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${method} ${url} ${hash}`
}
