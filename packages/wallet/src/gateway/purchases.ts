import { TollgateError } from '../errors.js'
import { type Events } from '../events.js'
import { isLost } from '../http.js'
import { isExpired, openUntil, type PaymentLog, type StoredPayment } from '../payments/payment-log.js'
import { findPriceBreach, type ListedPrice } from '../limits.js'
import { type FindRefusal } from '../payments/allowance.js'
import { eventOfPayment } from '../payments/payment-event.js'
import { announcePending, type PreparePayment } from '../payments/prepare-payment.js'
import { type PaymentRequired } from '../payments/payment-required.js'
import { createRecordPaid } from '../payments/record-paid.js'
import { createSingleFlight, type SingleFlight } from '../single-flight.js'
import { assertNotStopped, pause, signalOf, type Caller } from '../stops.js'
import { type WalletStorage } from '../storage/storage.js'
import { randomId } from '../encoding.js'
import { priceOf } from './choose-plan.js'
import { createAssertMaySend } from './may-send.js'
import { purposeOfCredits } from './open-payments.js'
import { type GatewayClient, type PurchaseOutcome } from './gateway-client.js'
import { keyPart, type Account, type Session, type Sessions } from './sessions.js'
import { type Plan } from './wire.js'

/** `amount` is in the asset's smallest unit. */
export type Purchase = { planId: number; amount: bigint; transaction: string; credits: number }

export type BuyOptions = {
  /** `false`: fails with PURCHASE_UNDER_WAY while another tab, process or call of this wallet buys on the plan. Default: waits for it. */
  wait?: boolean
}

export type Purchases = ReturnType<typeof createPurchases>

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
/** How long one call waits for the outcome of a payment; the payment stays stored for the next call. */
const MAX_WAIT_MS = 300_000
/** Of a session that the gateway ends again and again. */
const MAX_RENEWALS = 5

/**
 * Buys credits at the gateway. One payment of a wallet on a plan is open at a time: it is signed, stored and sent until the
 * gateway says what became of it, and only then another one may be signed.
 */
export function createPurchases(parts: {
  gateway: GatewayClient
  sessions: Sessions
  log: PaymentLog
  prepare: PreparePayment
  findRefusal: FindRefusal
  storage: WalletStorage
  events: Events
  now: () => number
  closed: AbortSignal
}) {
  const { gateway, sessions, log, prepare, storage, events, now, closed } = parts
  const assertMaySend = createAssertMaySend(parts)
  const recordPaid = createRecordPaid({ log, events, closed })
  /** By plan. */
  const topUps = new Map<number, SingleFlight<boolean>>()

  /**
   * Buys unless another tab, process or call of this client has done so since a call was sent.
   *
   * @param since in Unix milliseconds, when the call was sent that was answered with 402
   * @returns whether it bought for this call, and not with another one
   */
  async function buyAfter(
    session: Session,
    since: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const topUp = topUps.get(session.plan.id) ?? createSingleFlight<boolean>(closed)
    topUps.set(session.plan.id, topUp)
    const { result, isOwn } = await topUp((abandoned) => {
      const caller = { signal: abandoned }
      return exclusively(session, () => buyUnlessBought(session, since, caller), caller)
    }, signal)
    return isOwn && result
  }

  async function buyUnlessBought(session: Session, since: number, caller: Caller): Promise<boolean> {
    // What ended in the future was paid before the clock was set back.
    const isBought = (await log.list(session.address)).some(
      ({ purpose, state, endedAt = 0 }) =>
        purpose === purposeOf(session) && state === 'paid' && endedAt >= since && endedAt <= now(),
    )
    if (!isBought) await buyOne(session, caller)
    return !isBought
  }

  async function buy({ wait = true, ...caller }: Caller & BuyOptions = {}): Promise<Purchase> {
    const account = await sessions.accountToBuy(caller.signal)
    const task = async () => buyOne(await sessions.openFor(account, caller.signal), caller)
    if (wait) return exclusively(account, task, caller)
    const purchase = await storage.tryLock(lockOf(account), task)
    if (purchase) return purchase
    throw new TollgateError(
      'PURCHASE_UNDER_WAY',
      'Another tab, process or call of this wallet buys credits of this plan just now',
    )
  }

  const exclusively = <T>(account: Account, task: () => Promise<T>, { signal }: Caller): Promise<T> =>
    storage.lock(lockOf(account), task, signalOf({ closed, signal }))

  const lockOf = ({ plan, address }: Account) =>
    `buy/${keyPart(gateway.url)}/${address.toLowerCase()}/${plan.id}`

  const purposeOf = ({ plan }: Account) => purposeOfCredits(plan.id, gateway.url)

  async function buyOne(session: Session, caller: Caller): Promise<Purchase> {
    const earlier = (await log.list(session.address)).find(
      ({ purpose, state }) => purpose === purposeOf(session) && state === 'open',
    )
    if (earlier) {
      const purchase = await deliverEarlier(session, earlier, caller)
      if (purchase) return purchase
    }
    const { required, session: current } = await askPrice(session, caller)
    const payment = await prepare({
      url: `${gateway.url}/credits`,
      purpose: purposeOf(session),
      id: randomId(),
      required,
      listed: await listedPrice(session.plan, required, caller),
      isSingle: true,
      signal: caller.signal,
    })
    const purchase = await deliver(current, payment, {
      ...caller,
      announce: announcePending(events, payment),
    })
    if (purchase) return purchase
    throw new TollgateError('PAYMENT_REFUSED', 'The gateway refused the payment until it expired')
  }

  async function deliverEarlier(
    session: Session,
    payment: StoredPayment,
    caller: Caller,
  ): Promise<Purchase | undefined> {
    const announce = announcePending(events, payment)
    const serverTime = async () => now() + (await askPrice(session, caller)).required.clockSkew
    await assertMaySend(payment, { serverTime, announce, signal: caller.signal })
    announce()
    return deliver(session, payment, { ...caller, announce })
  }

  /** Read again if it seems to have changed since the plan was chosen. */
  async function listedPrice(
    plan: Plan,
    { offers }: PaymentRequired,
    { signal }: Caller,
  ): Promise<ListedPrice> {
    const known = priceOf(plan)
    if (offers.some((offer) => !findPriceBreach(known, offer))) return known
    const latest = (await gateway.plans(signal)).find(({ id }) => id === plan.id)
    return latest ? priceOf(latest) : known
  }

  /** Waits while another client of the wallet pays. */
  async function askPrice(
    session: Session,
    { signal }: Caller,
  ): Promise<{ required: PaymentRequired; session: Session }> {
    const deadline = now() + MAX_WAIT_MS
    let current = session
    for (let renewed = 0; ;) {
      const outcome = await gateway.purchase(current.token, { signal })
      if (outcome.kind === 'payment-required') return { required: outcome.required, session: current }
      if (outcome.kind === 'session-ended' && renewed < MAX_RENEWALS) {
        renewed += 1
        current = await sessions.renew(current, signal)
      } else if (outcome.kind === 'pending' && now() < deadline)
        await pause(outcome.retryAfterMs ?? FIRST_PAUSE_MS, { closed, signal })
      else throw unexpected(outcome)
    }
  }

  /** Undefined if the payment can be taken no more, and was not. */
  async function deliver(
    session: Session,
    payment: StoredPayment,
    { signal, commit, announce }: Caller & { announce: () => void },
  ): Promise<Purchase | undefined> {
    // Its next answer may be lost.
    if (payment.isRefused) await log.setRefused(payment, false)
    const deadline = now() + MAX_WAIT_MS
    let current = session
    let renewed = 0
    for (let attempt = 0; ;) {
      assertNotStopped({ closed, signal })
      const outcome = await send(current.token, payment, signal).catch((error: unknown) => {
        announce()
        throw error
      })
      if (outcome.kind === 'bought') {
        commit?.()
        return finish(session, payment, outcome)
      }
      announce()
      if (outcome.kind === 'disputed') {
        await log.end(payment, 'disputed')
        throw new TollgateError('PAYMENT_DISPUTED', outcome.message)
      }
      if (outcome.kind === 'payment-required') return assess(payment, outcome)
      if (outcome.kind === 'session-ended' && renewed++ < MAX_RENEWALS)
        current = await sessions.renew(current, signal)
      else if (outcome.kind === 'session-ended') throw unexpected(outcome)
      else await waitForNext(outcome, { attempt: attempt++, deadline, signal })
    }
  }

  async function send(
    token: string,
    payment: StoredPayment,
    signal: AbortSignal | undefined,
  ): Promise<PurchaseOutcome> {
    try {
      return await gateway.purchase(token, { payment: payment.header, signal })
    } catch (cause) {
      if (isLost(cause)) return { kind: 'pending', retryAfterMs: undefined, cause }
      if (!isRefusal(cause) || !isExpired(payment, now(), cause.details['serverTime'])) throw cause
      await log.end(payment, 'unknown')
      throw new TollgateError(
        'PAYMENT_UNKNOWN',
        'The gateway does not say what became of an expired payment',
        {
          cause,
          details: eventOfPayment(payment),
        },
      )
    }
  }

  /** A refused payment could be presented again until it expires, so none is signed in its place before. */
  async function assess(
    payment: StoredPayment,
    { required, message }: Extract<PurchaseOutcome, { kind: 'payment-required' }>,
  ): Promise<undefined> {
    if (isExpired(payment, now(), now() + required.clockSkew)) {
      await log.end(payment, 'void')
      return undefined
    }
    await log.setRefused(payment, true)
    throw new TollgateError('PAYMENT_REFUSED', message, {
      details: {
        ...eventOfPayment(payment),
        ...{ reason: required.error, validUntil: payment.validUntil, openUntil: openUntil(payment) },
      },
    })
  }

  async function waitForNext(
    { retryAfterMs, cause }: Extract<PurchaseOutcome, { kind: 'pending' }>,
    { attempt, deadline, signal }: { attempt: number; deadline: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    if (now() >= deadline)
      throw new TollgateError('PAYMENT_PENDING', 'The outcome of the payment is not known yet', { cause })
    const backoff = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS)
    await pause(retryAfterMs ?? backoff, { closed, signal })
  }

  async function finish(
    { plan }: Session,
    payment: StoredPayment,
    { credits, transaction }: Extract<PurchaseOutcome, { kind: 'bought' }>,
  ): Promise<Purchase> {
    await recordPaid(payment, transaction)
    return { planId: plan.id, amount: BigInt(payment.amount), transaction, credits }
  }

  return { buy, buyAfter }
}

const isRefusal = (error: unknown): error is TollgateError =>
  error instanceof TollgateError && error.code === 'GATEWAY_ERROR'

function unexpected(outcome: PurchaseOutcome): TollgateError {
  if (outcome.kind === 'pending')
    return new TollgateError(
      'PAYMENT_PENDING',
      'The gateway sells no credits just now, or another client of this wallet is paying',
      { cause: outcome.cause },
    )
  if (outcome.kind === 'disputed') return new TollgateError('PAYMENT_DISPUTED', outcome.message)
  return new TollgateError('GATEWAY_ERROR', `The gateway did not name a price (${outcome.kind})`)
}
