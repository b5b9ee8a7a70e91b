import { isReasonCode, type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { type Metrics } from '@tollgate/service'
import { type Settle } from './settle'
import { type Verify } from './verify'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 45]

const outcomes = { verify: ['valid', 'refused', 'error'], settle: ['settled', 'pending', 'refused', 'error'] }
type Operation = keyof typeof outcomes
type Outcome = { outcome: string; reason: string }

/** Verify and settle, measured by outcome. `error`: without a result, so that the client sends the request again. */
export function measurePayments({ verify, settle }: { verify: Verify; settle: Settle }, metrics: Metrics) {
  const requests = metrics.counter({
    name: 'tollgate_payment_requests_total',
    help: 'Requests to verify and settle, by outcome; the reason is empty unless the payment was refused',
    labelNames: ['operation', 'outcome', 'reason'],
  })
  const duration = metrics.histogram({
    name: 'tollgate_payment_request_duration_seconds',
    help: 'Time to the outcome of a request to verify or settle; a settle request waits for the chain',
    labelNames: ['operation', 'outcome'],
    buckets: SECONDS,
  })
  for (const operation of ['verify', 'settle'] as const)
    for (const outcome of outcomes[operation]) {
      duration.zero({ operation, outcome })
      if (outcome !== 'refused') requests.inc({ operation, outcome, reason: '' }, 0)
    }

  async function measure<T>(
    operation: Operation,
    request: Promise<T>,
    outcomeOf: (result: T) => Outcome,
  ): Promise<T> {
    const startedAt = performance.now()
    const end = ({ outcome, reason }: Outcome) => {
      requests.inc({ operation, outcome, reason })
      duration.observe({ operation, outcome }, (performance.now() - startedAt) / 1000)
    }
    try {
      const result = await request
      end(outcomeOf(result))
      return result
    } catch (error) {
      end({ outcome: 'error', reason: '' })
      throw error
    }
  }

  const measuredVerify: Verify = (...request) => measure('verify', verify(...request), outcomeOfVerify)
  const measuredSettle: Settle = (...request) => measure('settle', settle(...request), outcomeOfSettle)
  return { verify: measuredVerify, settle: measuredSettle }
}

const outcomeOfVerify = ({ isValid, invalidReason }: VerifyResult): Outcome =>
  isValid ? { outcome: 'valid', reason: '' } : refused(invalidReason)

function outcomeOfSettle({ success, errorReason }: SettleResult): Outcome {
  if (success) return { outcome: 'settled', reason: '' }
  return errorReason === 'settlement_pending' ? { outcome: 'pending', reason: '' } : refused(errorReason)
}

const refused = (reason: string): Outcome => ({
  outcome: 'refused',
  reason: isReasonCode(reason) ? reason : 'other',
})
