import { openFacilitatorDatabase } from '@tollgate/database'
import { createLogger, createMetrics, type Resolve } from '@tollgate/service'
import { closeLater, migratedDatabase, readableLog } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { createDeliveryWorker } from '../delivery-worker'
import { createEndpointStore } from '../endpoint-store'

const NO_SCAN = 'SELECT 1'
export const PAID_EVENT = 'thing.paid'

/** A database with the tables of webhooks; each owner is a new one. */
export async function openWorkerWorld() {
  const url = await migratedDatabase('facilitator')
  const database = openFacilitatorDatabase({ url, poolSize: 20 })
  closeLater(() => database.close())
  const { pool } = database
  const endpoints = createEndpointStore(pool)
  const log = readableLog()

  return {
    url,
    pool,
    endpoints,
    log,

    /** A replica with a worker that runs. */
    startReplica(options: { resolve?: Resolve; isProduction?: boolean } = {}) {
      const replica = openFacilitatorDatabase({ url, poolSize: 10 })
      const metrics = createMetrics()
      const worker = createDeliveryWorker({
        pool: replica.pool,
        overdue: NO_SCAN,
        paidEvents: [PAID_EVENT],
        isProduction: false,
        logger: createLogger({ service: 'test', level: 'info', stream: log.stream }),
        metrics,
        now: () => new Date(),
        ...options,
      })
      worker.begin()
      let closed: Promise<void> | undefined
      const close = () => (closed ??= worker.close().then(() => replica.close()))
      closeLater(close)
      return { close, scrape: () => metrics.register.metrics() }
    },

    async newEndpoint(
      receiverUrl: string,
      {
        owner = randomUUID(),
        events = [],
        hasPaid = true,
        isSlow = false,
      }: { owner?: string; events?: string[]; hasPaid?: boolean; isSlow?: boolean | null } = {},
    ) {
      const endpoint = await endpoints.create(owner, {
        url: receiverUrl,
        events,
        description: '',
        threshold: null,
      })
      if (!endpoint) throw new Error('The owner has too many endpoints')
      await pool.query('UPDATE webhook_endpoints SET has_paid = $2, is_slow = $3 WHERE id = $1', [
        endpoint.id,
        hasPaid,
        isSlow,
      ])
      const deliveries = () =>
        endpoints.listDeliveries(owner, endpoint.id, { before: null, state: null, limit: 1_000 })
      return { ...endpoint, owner, deliveries }
    },

    async emit(owner: string, subject: string, type = 'thing.changed', content: object = {}) {
      const data = JSON.stringify({ subject, ...content })
      await pool.query('SELECT emit_webhook($1, $2, $3, $4::json)', [owner, type, subject, data])
    },

    /** Ends all waiting times of an endpoint. */
    async makeDue(endpointId: string) {
      await pool.query('UPDATE webhook_endpoints SET retry_at = NULL WHERE id = $1', [endpointId])
      await pool.query(
        `UPDATE webhook_deliveries SET next_attempt_at = now() - interval '1 second' WHERE endpoint_id = $1 AND leased_until IS NULL`,
        [endpointId],
      )
    },
  }
}

export type WorkerWorld = Awaited<ReturnType<typeof openWorkerWorld>>
