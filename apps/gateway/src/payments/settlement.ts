import { FacilitatorError, type Facilitator } from '@tollgate/facilitator-client'
import { type SettleResult } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Ledger } from '../accounts/ledger'
import { detailOf } from './receipt'
import { type Leased, type PaymentRecord, type PaymentStore } from './store'

/**
 * How long one replica asks about a payment before another may ask as well. Shorter than an answer can take: a replica that
 * died must not hold the payment up, and two that ask under one idempotency key are told the same.
 */
const LEASE_SECONDS = 10
const MAX_BACKOFF_SECONDS = 30

export type Settlement = ReturnType<typeof createSettlement>

/**
 * Takes a payment to its end, from wherever a crash left it. `settling` is written before the facilitator is asked, and
 * the payment's id is the idempotency key: asking again, on this replica or another, gives the same outcome and charges
 * nobody twice. Only an answer that says so ends a payment; silence and errors leave it to be asked about again.
 */
export function createSettlement(parts: {
  store: PaymentStore
  facilitator: Facilitator
  ledger: Ledger
  logger: Logger
}) {
  const { store, facilitator, ledger, logger } = parts
  const underWay = new Map<string, Promise<PaymentRecord>>()

  const step = async (id: string): Promise<PaymentRecord> => {
    const leased = await store.lease(id, LEASE_SECONDS)
    if (leased) await ask(leased)
    const payment = await mustFind(id)
    if (payment.status !== 'settled') return payment
    if (await ledger.grant(id))
      logger.info('credits granted', { ...facts(payment), credits: payment.credits })
    return mustFind(id)
  }

  const ask = async (payment: Leased) => {
    try {
      await record(payment, await facilitator.settle(payment.request, { idempotencyKey: payment.id }))
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
    payment: Leased,
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

  const record = async (payment: Leased, result: SettleResult) => {
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

  /** Takes the payment as far as it goes now. Callers of one process share one attempt; replicas exclude each other. */
  const advance = (id: string): Promise<PaymentRecord> => {
    const running = underWay.get(id)
    if (running) return running
    const attempt = step(id).finally(() => underWay.delete(id))
    underWay.set(id, attempt)
    return attempt
  }

  return { advance, find: mustFind }
}

const facts = ({ id, wallet, planId, payer, amount }: PaymentRecord) => ({
  payment: id,
  wallet,
  planId,
  payer,
  amount,
})

const backoffSeconds = (attempts: number) => Math.min(MAX_BACKOFF_SECONDS, 2 ** Math.min(attempts, 5))
