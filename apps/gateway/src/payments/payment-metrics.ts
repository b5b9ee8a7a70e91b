import { isReasonCode } from '@tollgate/protocol'
import { type Metrics } from '@tollgate/service'
import { type PaymentRecord } from './payment-record'

const SECONDS = [0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300, 900, 3_600]

type CompletedOutcome = 'credited' | 'refused' | 'disputed'

export type PaymentMetrics = ReturnType<typeof createPaymentMetrics>

export function createPaymentMetrics(metrics: Metrics, now: () => Date) {
  const required = metrics.counter({
    name: 'tollgate_payment_required_total',
    help: 'Answers with 402; the reason is no_payment, no_credits, or why the payment of the request was refused',
    labelNames: ['reason'],
  })
  for (const reason of ['no_payment', 'no_credits']) required.inc({ reason }, 0)
  const completed = metrics.counter({
    name: 'tollgate_payments_completed_total',
    help: 'Payments that this process credited or recorded as refused or disputed; the reason is empty where one was credited',
    labelNames: ['network', 'outcome', 'reason'],
  })
  const duration = metrics.histogram({
    name: 'tollgate_payment_duration_seconds',
    help: 'From the arrival of a payment to its end',
    labelNames: ['network', 'outcome'],
    buckets: SECONDS,
  })
  return {
    /** `refusal`: of the payment of the request, if it had one. */
    required(refusal: string | undefined, otherwise: 'no_payment' | 'no_credits') {
      required.inc({ reason: refusal === undefined ? otherwise : boundedReason(refusal) })
    },
    completed(
      { network, createdAt }: Pick<PaymentRecord, 'network' | 'createdAt'>,
      outcome: CompletedOutcome,
      reason = '',
    ) {
      completed.inc({ network, outcome, reason: reason === '' ? '' : boundedReason(reason) })
      duration.observe({ network, outcome }, Math.max(0, (now().getTime() - createdAt.getTime()) / 1000))
    },
  }
}

/** A facilitator can say anything. */
const boundedReason = (reason: string) => (isReasonCode(reason) ? reason : 'other')
