import { type Metrics } from '@tollgate/service'

/** `retried`: an attempt failed, and another follows. `failed`: it was the last one. */
type Outcome = 'delivered' | 'retried' | 'failed'

export function createDeliveryMetrics(metrics: Metrics) {
  const deliveries = metrics.counter({
    name: 'tollgate_webhook_deliveries_total',
    help: 'Attempts to deliver a webhook of this process, by their outcome',
    labelNames: ['outcome'],
  })
  for (const outcome of ['delivered', 'retried', 'failed']) deliveries.inc({ outcome }, 0)
  const pending = metrics.gauge({
    name: 'tollgate_webhook_deliveries_pending',
    help: 'Webhook deliveries that wait for an attempt',
  })
  const oldest = metrics.gauge({
    name: 'tollgate_webhook_oldest_pending_age_seconds',
    help: 'Age of the oldest pending webhook delivery; 0 if none is pending',
  })
  return {
    count: (outcome: Outcome, count = 1) => deliveries.inc({ outcome }, count),
    backlog(backlog: { pending: bigint; oldestSeconds: number }) {
      pending.set(Number(backlog.pending))
      oldest.set(Math.max(0, backlog.oldestSeconds))
    },
  }
}
