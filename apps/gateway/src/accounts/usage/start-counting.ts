import { type GatewayDatabase } from '@tollgate/database'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'
import { countCalls } from './count-calls'

const INTERVAL_MS = 5_000

/** Counts calls into the totals of `/usage`, at any number of replicas, until stopped. */
export function startCounting(parts: {
  database: Pick<GatewayDatabase, 'pool'>
  metrics: Metrics
  logger: Logger
}) {
  const { database, metrics, logger } = parts
  const counted = metrics.counter({
    name: 'tollgate_usage_calls_counted_total',
    help: 'Calls that this process added to the totals of /usage',
  })
  const stopping = new AbortController()
  const runs = startInterval({
    everyMs: INTERVAL_MS,
    work: async () => counted.inc({}, await countCalls(database, stopping.signal)),
    onError: (error) => logger.warn('usage counting failed', { error }),
  })
  return {
    async stop() {
      stopping.abort()
      await runs.stop()
    },
  }
}
