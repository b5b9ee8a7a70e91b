import { FacilitatorError, type Facilitator } from '@tollgate/facilitator-client'
import { type Metrics } from '@tollgate/service'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 45]

const operations = ['verify', 'settle', 'supported', 'list_settlements', 'get_settlement'] as const
type Operation = (typeof operations)[number]

/** The facilitator, with its calls measured as this gateway sees them: with their retries. */
export function measureFacilitator(facilitator: Facilitator, metrics: Metrics): Facilitator {
  const duration = metrics.histogram({
    name: 'tollgate_facilitator_request_duration_seconds',
    help: 'Time of a call of the facilitator with its retries; the outcome is ok, also for a refused payment, or the kind of error',
    labelNames: ['operation', 'outcome'],
    buckets: SECONDS,
  })
  for (const operation of operations)
    for (const outcome of ['ok', 'rejected', 'unauthorized', 'unknown']) duration.zero({ operation, outcome })

  async function measure<T>(operation: Operation, request: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    const end = (outcome: string) =>
      duration.observe({ operation, outcome }, (performance.now() - startedAt) / 1000)
    try {
      const result = await request()
      end('ok')
      return result
    } catch (error) {
      end(error instanceof FacilitatorError ? error.kind : 'unknown')
      throw error
    }
  }

  const { settlements } = facilitator
  return {
    ...facilitator,
    verify: (request, options) => measure('verify', () => facilitator.verify(request, options)),
    settle: (request, options) => measure('settle', () => facilitator.settle(request, options)),
    supported: () => measure('supported', () => facilitator.supported()),
    settlements: {
      list: (query) => measure('list_settlements', () => settlements.list(query)),
      get: (id) => measure('get_settlement', () => settlements.get(id)),
    },
  }
}
