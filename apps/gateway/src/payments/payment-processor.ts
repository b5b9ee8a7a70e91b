import { FacilitatorError, type Facilitator } from '@tollgate/facilitator-client'
import { type SettleResult } from '@tollgate/protocol'
import { traced, traceIdOf, type Logger, type Span, type Tracing } from '@tollgate/service'
import { type Ledger } from '../accounts/ledger'
import { randomUUID } from 'node:crypto'
import { startStopwatch, type Clocks } from '../clocks'
import { type Admission } from './admission'
import { type PaymentMetrics } from './payment-metrics'
import { type PaymentRecord } from './payment-record'
import { detailOf, errorCodeOf } from './receipt'
import { type LeasedPayment, type SettlementStore } from './settlement-store'
import { type PaymentStore } from './store'

/**
 * Shorter than a settle request can take, so that a dead replica does not delay the payment: two requests under one
 * idempotency key get the same answer.
 */
const LEASE_SECONDS = 10
/** A settle request sent later could settle a payment that another replica has reported as refused. Far below the claim window. */
const MAX_LEASE_AGE_MS = 10_000
const MAX_BACKOFF_SECONDS = 30

export type PaymentProcessor = ReturnType<typeof createPaymentProcessor>

/**
 * Advances a payment from wherever a crash left it. `settling` is written before the settle request, and the idempotency key
 * is the payment's id and round: a retry, on any replica, gets the same outcome and charges once. Only an explicit answer ends
 * a payment; after timeouts and errors it is retried.
 */
export function createPaymentProcessor(dependencies: {
  payments: Pick<PaymentStore, 'find'>
  settlements: SettlementStore
  facilitator: Facilitator
  takeRequest: Admission['takeRequest']
  ledger: Ledger
  clocks: Clocks
  metrics: PaymentMetrics
  tracing: Tracing
  logger: Logger
}) {
  const { payments, settlements, facilitator, takeRequest, ledger, clocks, metrics, tracing, logger } =
    dependencies
  const inFlight = new Map<string, Promise<PaymentRecord>>()

  const advanceOnce = async (id: string, { requestId, span }: Requester): Promise<PaymentRecord> => {
    const elapsedMs = startStopwatch(clocks)
    const leased = await lease(id, requestId, span?.traceparent)
    if (leased && elapsedMs() <= MAX_LEASE_AGE_MS) await requestSettlement({ ...leased, requestId })
    else if (leased)
      logger.warn('payment lease expired before the settle request', logFields({ ...leased, requestId }))
    const payment = await get(id)
    if (payment.status !== 'settled') return payment
    if (await grant(payment)) {
      metrics.completed(payment, 'credited')
      logger.info('credits granted', { ...logFields({ ...payment, requestId }), credits: payment.credits })
    }
    return get(id)
  }

  /** Postpones the payment if the facilitator's rate limit is used up. */
  const lease = async (
    id: string,
    requestId: string,
    traceparent: string | undefined,
  ): Promise<LeasedPayment | undefined> => {
    const attempts = await settlements.findDueAttempts(id)
    if (attempts === undefined) return undefined
    const waitSeconds = await takeRequest({ isRetry: attempts > 0 })
    if (waitSeconds === undefined) return settlements.lease(id, LEASE_SECONDS, traceparent)
    await settlements.postpone(id, waitSeconds)
    logger.warn('payment postponed, facilitator rate limit used up', {
      paymentId: id,
      requestId,
      waitSeconds,
    })
    return undefined
  }

  const grant = ({ id, traceparent }: PaymentRecord) =>
    traced(tracing.resume(traceparent), 'grant credits', { attributes: { 'tollgate.payment_id': id } }, () =>
      ledger.grant(id),
    )

  const settle = (payment: Attempt) => {
    const { id, attempts, traceparent } = payment
    const attributes = { 'tollgate.payment_id': id, 'tollgate.attempt': attempts }
    return traced(
      tracing.resume(traceparent),
      'settle payment',
      { kind: 'client', attributes },
      async (span) => {
        const options = { ...settleOptions(payment), headers: tracing.headersOf(span) }
        const result = await facilitator.settle(payment.request, options)
        span?.set({ 'tollgate.outcome': result.success ? 'settled' : errorCodeOf(result.errorReason) })
        return result
      },
    )
  }

  const requestSettlement = async (payment: Attempt) => {
    try {
      await recordResult(payment, await settle(payment))
    } catch (error) {
      if (!(error instanceof FacilitatorError)) throw error
      if (error.kind === 'rejected') {
        const reason = error.code === 'INVALID_PAYLOAD' ? 'invalid_payload' : 'invalid_payment'
        await recordRefusal(payment, reason, { logDetail: error.message })
        return
      }
      await scheduleRetry(payment, 'facilitator_unavailable')
      logger.warn('payment outcome unknown', {
        ...logFields(payment),
        reason: error.message,
        attempts: payment.attempts,
      })
    }
  }

  const scheduleRetry = (payment: Attempt, reason: string, transaction: string | null = null) =>
    settlements.scheduleRetry(payment.id, reason, transaction, backoffSeconds(payment.attempts))

  /** `errorMessage` goes to the payer, `logDetail` to the log. */
  const recordRefusal = async (
    payment: Attempt,
    reason: string,
    { errorMessage, logDetail }: { errorMessage?: string | undefined; logDetail?: string },
  ) => {
    const detail = detailOf(errorMessage)
    const isFailed = await settlements.markRefused(payment, { reason, detail })
    if (isFailed) metrics.completed(payment, 'refused', reason)
    logger.info(isFailed ? 'payment refused' : 'payment refused, retrying: another settle request is open', {
      ...logFields(payment),
      reason,
      detail: logDetail ?? detail,
    })
  }

  const recordResult = async (payment: Attempt, result: SettleResult) => {
    if (result.success && result.transaction !== '') {
      await settlements.markSettled(payment.id, result)
      logger.info('payment settled', {
        ...logFields(payment),
        transaction: result.transaction,
        block: result.blockNumber,
        ...(result.arrived && { arrived: true }),
      })
    } else if (result.success || result.errorReason === '' || result.errorReason === 'settlement_pending') {
      const transaction = result.transaction === '' ? null : result.transaction
      await scheduleRetry(payment, 'settlement_pending', transaction)
      logger.info('payment pending', { ...logFields(payment), transaction })
    } else if (result.errorReason === 'transfer_event_mismatch') {
      if (await settlements.markDisputed(payment.id, result.errorReason, result.transaction))
        metrics.completed(payment, 'disputed', result.errorReason)
      logger.error('payment disputed', { ...logFields(payment), transaction: result.transaction })
    } else {
      await recordRefusal(payment, result.errorReason, result)
    }
  }

  const get = async (id: string): Promise<PaymentRecord> => {
    const payment = await payments.find(id)
    if (!payment) throw new Error('A recorded payment is missing')
    return payment
  }

  /** Callers in one process share one attempt; replicas exclude each other by the lease. */
  const advance = (
    id: string,
    requester: Requester = { requestId: randomUUID(), span: undefined },
  ): Promise<PaymentRecord> => {
    const running = inFlight.get(id)
    if (running) return running
    const attempt = advanceOnce(id, requester).finally(() => inFlight.delete(id))
    inFlight.set(id, attempt)
    return attempt
  }

  return { advance }
}

/** The request that waits for the payment. A payment without a trace continues that of the request. */
type Requester = { requestId: string; span: Span | undefined }

type Attempt = LeasedPayment & { requestId: string }

const settleOptions = ({ id, round, requestId }: Attempt) => ({
  idempotencyKey: round === 1 ? id : `${id}.${round}`,
  requestId,
})

const logFields = ({
  id,
  requestId,
  wallet,
  planId,
  payer,
  amount,
  traceparent,
}: Pick<PaymentRecord, 'id' | 'wallet' | 'planId' | 'payer' | 'amount' | 'traceparent'> & {
  requestId: string
}) => ({
  paymentId: id,
  requestId,
  wallet,
  planId,
  payer,
  amount,
  traceId: traceIdOf(traceparent),
})

const backoffSeconds = (attempts: number) => Math.min(MAX_BACKOFF_SECONDS, 2 ** Math.min(attempts, 5))
