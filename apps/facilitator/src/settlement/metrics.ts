import { type SignerFailure } from '@tollgate/chains'
import { type Metrics } from '@tollgate/service'

/** Counts of this process: the sum over all replicas is the total. */
export type SettlementMetrics = {
  /** `reason` is empty if settled. A settlement that was settled and is reversed-final counts twice. */
  ended(of: {
    network: string
    outcome: 'settled' | 'failed' | 'reversed'
    reason: string
    claimedAt: Date
  }): void
  replaced(of: { network: string; signer: string }): void
  /** A remote signer gave no usable signature. */
  signerFailed(of: { network: string; signer: string; failure: SignerFailure }): void
  /** A reorg dropped a settlement that had been counted as settled. */
  reversed(of: { network: string }): void
  batch(of: { network: string; payments: number }): void
}

const SECONDS = [0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300, 900, 3_600]
const FAILURES: readonly SignerFailure[] = ['unreachable', 'timeout', 'refused', 'invalid']
const PAYMENTS = [1, 2, 3, 5, 8, 13, 20, 30, 40, 50]

/** Every series of each network and signer starts at zero. */
export function createSettlementMetrics(parts: {
  metrics: Metrics
  networks: readonly { name: string; chain: { signer: { addresses: readonly string[] } } }[]
  now: () => Date
}): SettlementMetrics {
  const { metrics, networks, now } = parts
  const ended = metrics.counter({
    name: 'tollgate_settlements_completed_total',
    help: 'Settlements that this process ended, by how and why; the reason is empty where one was settled',
    labelNames: ['network', 'outcome', 'reason'],
  })
  const replaced = metrics.counter({
    name: 'tollgate_transactions_replaced_total',
    help: 'Transactions replaced by one with the same nonce and higher fees',
    labelNames: ['network', 'signer'],
  })
  const signerErrors = metrics.counter({
    name: 'tollgate_signer_errors_total',
    help: 'Requests to a remote signer that gave no usable signature: unreachable, timeout, refused or invalid',
    labelNames: ['network', 'signer', 'failure'],
  })
  const reversed = metrics.counter({
    name: 'tollgate_settlements_reversed_total',
    help: 'Settlements that had counted and were dropped by a reorg; above zero it needs a look',
    labelNames: ['network'],
  })
  const duration = metrics.histogram({
    name: 'tollgate_settlement_duration_seconds',
    help: 'From the claim of a payment to its end',
    labelNames: ['network', 'outcome'],
    buckets: SECONDS,
  })
  const payments = metrics.histogram({
    name: 'tollgate_batch_size',
    help: 'Payments in a transaction that was signed',
    labelNames: ['network'],
    buckets: PAYMENTS,
  })
  for (const { name: network, chain } of networks) {
    ended.inc({ network, outcome: 'settled', reason: '' }, 0)
    reversed.inc({ network }, 0)
    payments.zero({ network })
    for (const outcome of ['settled', 'failed', 'reversed']) duration.zero({ network, outcome })
    for (const signer of chain.signer.addresses) {
      replaced.inc({ network, signer }, 0)
      for (const failure of FAILURES) signerErrors.inc({ network, signer, failure }, 0)
    }
  }

  return {
    ended({ network, outcome, reason, claimedAt }) {
      ended.inc({ network, outcome, reason })
      duration.observe({ network, outcome }, Math.max(0, (now().getTime() - claimedAt.getTime()) / 1000))
    },
    replaced: (of) => replaced.inc(of),
    signerFailed: (of) => signerErrors.inc(of),
    reversed: (of) => reversed.inc(of),
    batch: ({ network, payments: together }) => payments.observe({ network }, together),
  }
}
