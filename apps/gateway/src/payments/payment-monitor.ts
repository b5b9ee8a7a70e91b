import { type GatewayDatabase } from '@tollgate/database'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'

const INTERVAL_MS = 5_000

const openStates = ['received', 'settling', 'settled', 'disputed'] as const
type OpenState = (typeof openStates)[number]

/** The conditions are those of two partial indexes, which hold open payments only. */
export const OPEN_PAYMENTS = `
SELECT status AS state, count(*) AS payments, extract(epoch FROM now() - min(created_at))::float8 AS "oldestSeconds"
FROM payments WHERE status IN ('received', 'settling', 'settled') GROUP BY status
UNION ALL
SELECT 'disputed', count(*), extract(epoch FROM now() - min(created_at))::float8 FROM payments WHERE status = 'disputed'`

type Row = { state: OpenState; payments: bigint; oldestSeconds: number | null }

/** Reads open payments from the database, so that every replica exports the same values. */
export function startPaymentMonitor(parts: {
  database: Pick<GatewayDatabase, 'pool'>
  metrics: Metrics
  logger: Logger
  now: () => Date
  everyMs?: number
}) {
  const { database, metrics, logger, now, everyMs = INTERVAL_MS } = parts
  const open = metrics.gauge({
    name: 'tollgate_payments_open',
    help: 'Payments that have not ended; settled ones wait for their credits, disputed ones for an operator',
    labelNames: ['state'],
  })
  const oldest = metrics.gauge({
    name: 'tollgate_payments_oldest_age_seconds',
    help: 'Age of the oldest payment in this state since its arrival; 0 if there is none',
    labelNames: ['state'],
  })
  const updatedAt = metrics.gauge({
    name: 'tollgate_payment_stats_updated_timestamp_seconds',
    help: 'When this process last read the open payments from the database',
  })
  return startInterval({
    everyMs,
    async work() {
      const { rows } = await database.pool.query<Row>({ name: 'open-payments', text: OPEN_PAYMENTS })
      for (const state of openStates) {
        const row = rows.find((candidate) => candidate.state === state)
        open.set({ state }, Number(row?.payments ?? 0))
        oldest.set({ state }, Math.max(0, row?.oldestSeconds ?? 0))
      }
      updatedAt.set(now().getTime() / 1000)
    },
    onError: (error) => logger.warn('open payment query failed', { error }),
  })
}
