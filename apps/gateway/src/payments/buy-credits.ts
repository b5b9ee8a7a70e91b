import { families, isPayersTransaction, type OfflineResult, type Payment } from '@tollgate/chains'
import { isRolledBack } from '@tollgate/database'
import { type Facilitator } from '@tollgate/facilitator-client'
import { ApiError, traced, type Logger, type Span, type Tracing } from '@tollgate/service'
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isTransient } from '../accounts/ledger-errors'
import { type Session, type Sessions } from '../auth/sessions'
import { type Plan } from '../catalog/catalog'
import { type Listing } from '../extensions/bazaar'
import { type Identifier } from '../extensions/payment-identifier'
import { type Admission } from './admission'
import { checkedAt } from './checked-at'
import { asPending, facilitatorBusy, pendingPayment } from './payment-errors'
import { type PaymentHeader } from './payment-header'
import { detailOf, errorCodeOf, receiptOf, type Receipt } from './receipt'
import { matchesPlan, assertPlanActive, termsOf } from './requirements'
import { type PaymentProcessor } from './payment-processor'
import { type PaymentRecord } from './payment-record'
import { reopeningOf, settleRequestOf } from './settle-request'
import { type PaymentStore } from './store'

/**
 * `reason` is a code and `detail` text. Nothing was bought if `refused`; an operator must decide if `disputed`.
 * `span`: the one call that the payment pays for is a part of its trace, which an earlier request may have begun.
 */
export type Purchase =
  | { outcome: 'paid'; payment: PaymentRecord; receipt: Receipt; span: Span | undefined }
  | { outcome: 'disputed'; id: string; receipt: Receipt }
  | { outcome: 'refused'; reason: string; detail?: string; receipt: Receipt }

/**
 * Without a session the payer of the payment buys, and the payment serves one call, of the client address that presented it
 * first: once it is mined, everyone can read the signed authorization.
 */
export type Buyer = {
  session: Session | undefined
  address: string
  requestId: string
  /** The URL that is paid for. */
  resource: string
  /** How catalogs describe that URL. */
  listing?: Listing | undefined
  identifier?: Identifier | undefined
  span: Span | undefined
}

type PaymentAttempt = { plan: Plan; payment: Payment; header: PaymentHeader }

type Rejection = { rejection: string; detail: string | undefined }

const MAX_WAIT_MS = 30_000
const POLL_INTERVAL_MS = 100

export type BuyCredits = ReturnType<typeof createBuyCredits>

/**
 * Records a payment, has it settled and grants its credits. Idempotent: the same payment, at once or later, is charged once.
 *
 * @throws ApiError PAYMENT_PENDING while the outcome is unknown, also after a failure of Postgres or the network: a client
 *   would pay again on a 402; CONFLICT if another payment has its identifier, and may still be settled
 */
export function createBuyCredits(dependencies: {
  payments: PaymentStore
  processor: PaymentProcessor
  admission: Admission
  facilitator: Pick<Facilitator, 'verify'>
  sessions: Pick<Sessions, 'findSignedBy'>
  tracing: Tracing
  logger: Logger
}) {
  const { payments, processor, admission, facilitator, sessions, tracing, logger } = dependencies
  const inFlight = new Map<string, Promise<PaymentRecord | Rejection>>()

  return async function buyCredits(buyer: Buyer, plan: Plan, header: PaymentHeader): Promise<Purchase> {
    const attributes = { 'tollgate.network': plan.network, 'tollgate.plan': plan.id }
    const purchase = await traced(buyer.span, 'buy credits', { attributes }, (span) =>
      buy({ ...buyer, span }, plan, header),
    )
    if (purchase.outcome !== 'paid') return purchase
    return { ...purchase, span: await spanAfter(buyer, purchase.payment) }
  }

  async function spanAfter({ span }: Buyer, { id, traceparent }: PaymentRecord): Promise<Span | undefined> {
    const ofPayment = tracing.resume(traceparent)
    if (!ofPayment) return span
    const isTaken = await payments.takeTrace(id).catch(() => false)
    return isTaken && ofPayment.traceId !== span?.traceId ? ofPayment : span
  }

  async function buy(buyer: Buyer, plan: Plan, header: PaymentHeader): Promise<Purchase> {
    const { session, requestId, span } = buyer
    const payment = families[plan.ecosystem]?.readPayment(header.payload)
    if (!payment)
      throw new ApiError('INVALID_REQUEST', `X-PAYMENT holds no payment for ${plan.ecosystem} plans`)
    const { payer } = payment
    const refused = (errorReason: string, reason: string, detail?: string): Purchase => ({
      outcome: 'refused',
      reason,
      ...(detail === undefined ? {} : { detail }),
      receipt: receiptOf(plan, {
        payer,
        errorReason,
        ...(detail === undefined ? {} : { errorMessage: detail }),
      }),
    })
    // A payment is visible in headers and on chain: only its payer may use it.
    if (session && payer !== session.wallet)
      return refused('invalid_payment', 'the payer is not the wallet that is signed in')

    const registered = await registerOnce(buyer, { plan, payment, header }).catch((error: unknown) => {
      throw isRolledBack(error) && !isTransient(error) ? error : asPending(error)
    })
    if ('rejection' in registered) {
      const { rejection: reason, detail } = registered
      logger.info('payment rejected before settlement', {
        requestId,
        traceId: span?.traceId,
        wallet: payer,
        planId: plan.id,
        reason,
        detail,
      })
      return refused(reason, reason, detailOf(detail))
    }
    const ended = await waitForOutcome(processor, registered.id, { requestId, span }).catch(
      (error: unknown) => {
        throw asPending(error)
      },
    )
    return purchaseOf(plan, ended)
  }

  /** Concurrent calls with the same payment share one attempt, which counts once against the wallet's limits. */
  function registerOnce(buyer: Buyer, attempt: PaymentAttempt) {
    const key = JSON.stringify([buyer.session?.id ?? ['', buyer.address], attempt.plan.id, attempt.header])
    const registering = inFlight.get(key) ?? register(buyer, attempt).finally(() => inFlight.delete(key))
    inFlight.set(key, registering)
    return registering
  }

  /** @throws ApiError NOT_FOUND for a new payment to a retired plan */
  async function register(buyer: Buyer, attempt: PaymentAttempt): Promise<PaymentRecord | Rejection> {
    const { plan, payment, header } = attempt
    const authorization = { plan, payer: payment.payer, nonce: payment.nonce }
    const known = await payments.findByAuthorization(authorization)
    const isRetry = known?.status === 'failed' && isPayersTransaction(payment)
    const isReopened = known && !isRetry && (await canReopen(known, attempt))
    if (known && !isRetry && !isReopened) return known

    assertPlanActive(plan)
    if (header.accepted && !matchesPlan(plan, header.accepted))
      return { rejection: 'invalid_payment_requirements', detail: 'the payer accepted other terms' }
    const rejection = await admit(buyer, attempt)
    if (rejection) return rejection

    if (isReopened) {
      const presented = { presentedBy: presenterOf(buyer), identifier: buyer.identifier }
      const reopened = await payments.reopen(known, reopeningOf(known, attempt), presented)
      return reopened ?? (await payments.findByAuthorization(authorization)) ?? known
    }
    return store(buyer, attempt, isRetry ? known : undefined)
  }

  /** Applies the limits to a new payment, after all checks that cost less. */
  async function admit(buyer: Buyer, attempt: PaymentAttempt): Promise<Rejection | undefined> {
    const { session, address } = buyer
    const { plan, payment } = attempt
    const wallet = payment.payer
    const { now, ...applicant } = await payments.getApplicant(wallet)
    const result = await check(session, plan, payment, now)
    if ('reason' in result) return { rejection: result.reason, detail: result.detail }
    const isVerified = result.signature === 'valid'
    if (session || isVerified) await admission.admit({ wallet, address, isVerified, ...applicant })
    else return admitUnverified(buyer, attempt)
    return undefined
  }

  /**
   * Nothing shows yet that the payer knows of this payment: it counts against the client's address, and is stored only once
   * the facilitator has verified it, so that it cannot keep the payer from paying.
   */
  async function admitUnverified(
    buyer: Buyer,
    { plan, header }: PaymentAttempt,
  ): Promise<Rejection | undefined> {
    const { address, span } = buyer
    await admission.admit({ wallet: address, address, isVerified: false, isCustomer: false, open: 0 })
    const retryAfterSeconds = await admission.takeRequest({ isRetry: false })
    if (retryAfterSeconds !== undefined) throw facilitatorBusy(retryAfterSeconds)
    const { isValid, invalidReason, invalidMessage } = await traced(
      span,
      'verify payment',
      { kind: 'client' },
      (step) =>
        facilitator.verify(settleRequestOf(header, plan, buyer), { headers: tracing.headersOf(step) }),
    ).catch((cause: unknown) => {
      throw facilitatorBusy(undefined, cause)
    })
    if (isValid) return undefined
    const rejection = errorCodeOf(invalidReason)
    return { rejection, detail: detailOf(invalidMessage) }
  }

  async function store(
    buyer: Buyer,
    { plan, payment: { payer, nonce }, header }: PaymentAttempt,
    failed: PaymentRecord | undefined,
  ): Promise<PaymentRecord> {
    const { requestId, identifier, span } = buyer
    const wallet = payer
    const authorization = { plan, payer, nonce }
    const request = settleRequestOf(header, plan, buyer)
    const presentedBy = presenterOf(buyer)
    const stored = await traced(span, 'record payment', {}, (step) => {
      const purchase = { wallet, request, presentedBy, identifier, traceparent: step?.traceparent }
      return failed
        ? payments.createRetry(failed, authorization, purchase)
        : payments.create(authorization, purchase)
    })
    if (stored) {
      const fields = { paymentId: stored.id, requestId, traceId: span?.traceId, wallet }
      logger.info('payment received', { ...fields, planId: plan.id, payer, nonce })
    }
    const record = stored ?? (await payments.findByAuthorization(authorization))
    if (!record) throw new Error('A recorded payment is missing')
    return record
  }

  async function canReopen(known: PaymentRecord, attempt: PaymentAttempt) {
    if (!attempt.plan.active || known.status !== 'failed' || attempt.payment.validUntil === undefined)
      return false
    return payments.canReopen(known, reopeningOf(known, attempt))
  }

  /**
   * Checks the terms and, as far as possible without the chain, the signature. A contract may accept a signature that its key
   * did not make only if it accepted the sign-in too: a wallet that signed in by key pays by key.
   */
  async function check(
    session: Session | undefined,
    plan: Plan,
    payment: Payment,
    now: Date,
  ): Promise<OfflineResult> {
    const family = families[plan.ecosystem]
    if (!family) throw new Error(`There is no chain family ${plan.ecosystem}`)
    const at = { chainId: plan.chainId, now: checkedAt(payment, now) }
    const result = family.checkOffline(payment, termsOf(plan), at)
    if (!session || 'reason' in result || result.signature !== 'not-by-key') return result
    return (await sessions.findSignedBy(session)) === 'key' ? result.refusal : result
  }
}

const presenterOf = ({ session, address }: Buyer): Buffer | undefined =>
  session ? undefined : createHash('sha256').update(address).digest()

export const isPresenter = ({ presentedBy }: Pick<PaymentRecord, 'presentedBy'>, buyer: Buyer): boolean =>
  presentedBy !== null && presenterOf(buyer)?.equals(presentedBy) === true

async function waitForOutcome(
  processor: PaymentProcessor,
  id: string,
  requester: Parameters<PaymentProcessor['advance']>[1],
): Promise<PaymentRecord> {
  const deadline = performance.now() + MAX_WAIT_MS
  let payment = await processor.advance(id, requester)
  while (isOpen(payment) && payment.errorReason === null && performance.now() < deadline) {
    await delay(POLL_INTERVAL_MS)
    payment = await processor.advance(id, requester)
  }
  return payment
}

const isOpen = ({ status }: PaymentRecord) =>
  status !== 'credited' && status !== 'failed' && status !== 'disputed'

function purchaseOf(plan: Plan, payment: PaymentRecord): Purchase {
  const { status, payer, network, transaction, blockNumber, createdAt } = payment
  const fields = { payer, network, createdAt }
  if (status === 'credited') {
    const settled = { transaction: transaction ?? '', blockNumber: Number(blockNumber ?? 0) }
    const receipt = receiptOf(plan, { ...fields, ...settled, success: true })
    return { outcome: 'paid', payment, receipt, span: undefined }
  }
  if (status !== 'failed' && status !== 'disputed') throw pendingPayment()
  const reason = payment.errorReason ?? 'invalid_payment'
  const { errorDetail } = payment
  const receipt = receiptOf(plan, {
    ...fields,
    errorReason: errorCodeOf(reason),
    ...(transaction === null ? {} : { transaction }),
    ...(errorDetail === null ? {} : { errorMessage: errorDetail }),
  })
  if (status === 'disputed') return { outcome: 'disputed', id: payment.id, receipt }
  return { outcome: 'refused', reason, ...(errorDetail === null ? {} : { detail: errorDetail }), receipt }
}
