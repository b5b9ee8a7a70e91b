import { type Metrics } from './metrics'

/** Of a pool of the driver. */
type Pool = {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  readonly options: { max: number }
}

export function exportPool(metrics: Metrics, pool: Pool) {
  metrics.gauge({
    name: 'tollgate_postgres_connections',
    help: 'Connections of this process to Postgres',
    labelNames: ['state'],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'in_use' }, pool.totalCount - pool.idleCount)
    },
  })
  metrics.gauge({
    name: 'tollgate_postgres_connections_max',
    help: 'Connections to Postgres that this process may open',
    collect() {
      this.set(pool.options.max)
    },
  })
  metrics.gauge({
    name: 'tollgate_postgres_waiting_queries',
    help: 'Queries that wait for a connection to Postgres',
    collect() {
      this.set(pool.waitingCount)
    },
  })
}
