import { FacilitatorError, type Facilitator } from '@tollgate/facilitator-client'
import { type SettleResult } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Ledger } from '../accounts/ledger'
import { randomUUID } from 'node:crypto'
import { startStopwatch, type Clocks } from '../clocks'
import { type Admission } from './admission'
import { detailOf } from './receipt'
import { type Leased, type PaymentRecord, type PaymentStore } from './store'

/**
 * How long one replica asks about a payment before another may ask as well. Shorter than an answer can take: a replica that
 * died must not hold the payment up, and two that ask under one idempotency key are told the same.
 */
const LEASE_SECONDS = 10
/**
 * How old a lease may be when the facilitator is asked: what is asked later may be settled after others were told that it
 * was refused. Well below the time after which a question counts as unanswerable.
 */
const ASK_WITHIN_MS = 10_000
const MAX_BACKOFF_SECONDS = 30

export type Settlement = ReturnType<typeof createSettlement>

/**
 * Takes a payment to its end, from wherever a crash left it. `settling` is written before the facilitator is asked, and
 * the payment's id, with its round, is the idempotency key: asking again, on this replica or another, gives the same outcome and charges
 * nobody twice. Only an answer that says so ends a payment; silence and errors leave it to be asked about again.
 */
export function createSettlement(parts: {
  store: PaymentStore
  facilitator: Facilitator
  takeRequest: Admission['takeRequest']
  ledger: Ledger
  clocks: Clocks
  logger: Logger
}) {
  const { store, facilitator, takeRequest, ledger, clocks, logger } = parts
  const underWay = new Map<string, Promise<PaymentRecord>>()

  const step = async (id: string, requestId: string): Promise<PaymentRecord> => {
    const elapsedMs = startStopwatch(clocks)
    const leased = await lease(id, requestId)
    if (leased && elapsedMs() <= ASK_WITHIN_MS) await ask({ ...leased, requestId })
    else if (leased)
      logger.warn('payment lease expired before the facilitator was asked', facts({ ...leased, requestId }))
    const payment = await mustFind(id)
    if (payment.status !== 'settled') return payment
    if (await ledger.grant(id))
      logger.info('credits granted', { ...facts({ ...payment, requestId }), credits: payment.credits })
    return mustFind(id)
  }

  /** Postponed where the facilitator's key has no request left: a payment that was not asked about stays open. */
  const lease = async (id: string, requestId: string): Promise<Leased | undefined> => {
    const attempts = await store.dueAttempts(id)
    if (attempts === undefined) return undefined
    const waitSeconds = await takeRequest({ isRetry: attempts > 0 })
    if (waitSeconds === undefined) return store.lease(id, LEASE_SECONDS)
    await store.postpone(id, waitSeconds)
    logger.warn('payment postponed, no request to the facilitator left', {
      paymentId: id,
      requestId,
      waitSeconds,
    })
    return undefined
  }

  const ask = async (payment: Asked) => {
    try {
      await record(payment, await facilitator.settle(payment.request, settleOptions(payment)))
    } catch (error) {
      if (!(error instanceof FacilitatorError)) throw error
      if (error.kind === 'rejected') {
        const reason = error.code === 'INVALID_PAYLOAD' ? 'invalid_payload' : 'invalid_payment'
        await refuse(payment, reason, { problem: error.message })
        return
      }
      await store.later(payment.id, 'facilitator_unavailable', null, backoffSeconds(payment.attempts))
      logger.warn('payment outcome unknown', {
        ...facts(payment),
        reason: error.message,
        attempts: payment.attempts,
      })
    }
  }

  /** `errorMessage` is for the payer, `problem` for the log. */
  const refuse = async (
    payment: Asked,
    reason: string,
    { errorMessage, problem }: { errorMessage?: string | undefined; problem?: string },
  ) => {
    const detail = detailOf(errorMessage)
    const isOver = await store.refused(payment, { reason, detail })
    logger.info(
      isOver ? 'payment refused' : 'payment refused while it is asked about elsewhere; asking again',
      {
        ...facts(payment),
        reason,
        detail: problem ?? detail,
      },
    )
  }

  const record = async (payment: Asked, result: SettleResult) => {
    if (result.success && result.transaction !== '') {
      await store.settled(payment.id, result.transaction, result.blockNumber)
      logger.info('payment settled', {
        ...facts(payment),
        transaction: result.transaction,
        block: result.blockNumber,
      })
    } else if (result.success || result.errorReason === '' || result.errorReason === 'settlement_pending') {
      const transaction = result.transaction === '' ? null : result.transaction
      await store.later(payment.id, 'settlement_pending', transaction, backoffSeconds(payment.attempts))
      logger.info('payment pending', { ...facts(payment), transaction })
    } else if (result.errorReason === 'transfer_event_mismatch') {
      await store.disputed(payment.id, result.errorReason, result.transaction)
      logger.error('payment disputed', { ...facts(payment), transaction: result.transaction })
    } else {
      await refuse(payment, result.errorReason, result)
    }
  }

  const mustFind = async (id: string): Promise<PaymentRecord> => {
    const payment = await store.find(id)
    if (!payment) throw new Error('A payment that was written down is gone')
    return payment
  }

  /**
   * Takes the payment as far as it goes now. Callers of one process share one attempt; replicas exclude each other. The
   * facilitator is asked under `requestId`, that of the caller's own request where there is one.
   */
  const advance = (id: string, requestId: string = randomUUID()): Promise<PaymentRecord> => {
    const running = underWay.get(id)
    if (running) return running
    const attempt = step(id, requestId).finally(() => underWay.delete(id))
    underWay.set(id, attempt)
    return attempt
  }

  return { advance, find: mustFind }
}

/** A payment that is asked about, and by which request. */
type Asked = Leased & { requestId: string }

const settleOptions = ({ id, round, requestId }: Asked) => ({
  idempotencyKey: round === 1 ? id : `${id}.${round}`,
  requestId,
})

const facts = ({
  id,
  requestId,
  wallet,
  planId,
  payer,
  amount,
}: Pick<PaymentRecord, 'id' | 'wallet' | 'planId' | 'payer' | 'amount'> & { requestId: string }) => ({
  paymentId: id,
  requestId,
  wallet,
  planId,
  payer,
  amount,
})

const backoffSeconds = (attempts: number) => Math.min(MAX_BACKOFF_SECONDS, 2 ** Math.min(attempts, 5))
