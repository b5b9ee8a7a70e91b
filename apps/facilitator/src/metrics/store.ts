import { type Pool } from '@tollgate/database'
import { MAX_LISTED_METRICS, type HttpMetrics, type SettlementMetrics } from '@tollgate/protocol'
import { longestMs } from './histogram'
import { CLIENTS, HTTP, type ClientRow, type HttpRow } from './http-sql'
import { type Range, type Span } from './range'
import { ENDS, FEES, type EndRow, type FeeRow } from './settlements-sql'
import { summarize } from './settlements'

const formats: Record<Span, string> = { day: 'YYYY-MM-DD', month: 'YYYY-MM', all: '' }

/** `period` is a day, a month, or empty for the total. Periods without requests are missing. */
export type Periods<Metrics> = { period: string; metrics: Metrics }[]

export type MetricsStore = ReturnType<typeof createMetricsStore>

/**
 * Metrics of a user or of `ALL_USERS`, oldest first. The queries are not prepared: Postgres would use one generic plan for
 * all ranges, and the plan for a day is far too slow for ten years.
 */
export function createMetricsStore(pool: Pool) {
  return {
    async http(userId: number, { from, to }: Range, span: Span): Promise<Periods<HttpMetrics>> {
      const values = [userId, from, to, formats[span], MAX_LISTED_METRICS]
      const [{ rows }, clients] = await Promise.all([
        pool.query<HttpRow>(HTTP, values),
        pool.query<ClientRow>(CLIENTS, values),
      ])
      const clientsOf = byPeriod(clients.rows)
      return [...byPeriod(rows)].map(([period, parts]) => ({
        period,
        metrics: toHttpMetrics(parts, clientsOf.get(period) ?? []),
      }))
    },

    async settlements(userId: number, { from, to }: Range, span: Span): Promise<Periods<SettlementMetrics>> {
      const values = [userId, from, to, formats[span]]
      const [{ rows }, fees] = await Promise.all([
        pool.query<EndRow>(ENDS, values),
        pool.query<FeeRow>(FEES, values),
      ])
      const feesOf = byPeriod(fees.rows)
      return [...byPeriod(rows)].map(([period, ends]) => ({
        period,
        metrics: summarize(ends, feesOf.get(period) ?? []),
      }))
    },
  }
}

function byPeriod<Row extends { period: string }>(rows: Row[]): Map<string, Row[]> {
  const periods = new Map<string, Row[]>()
  for (const row of rows) {
    const own = periods.get(row.period)
    if (own) own.push(row)
    else periods.set(row.period, [row])
  }
  return periods
}

const latencyOf = ({ p50, p90, p99 }: Pick<HttpRow, 'p50' | 'p90' | 'p99'>) => ({
  p50: longestMs(p50),
  p90: longestMs(p90),
  p99: longestMs(p99),
})

function toHttpMetrics(rows: HttpRow[], clients: ClientRow[]): HttpMetrics {
  const metrics = noRequests()
  for (const row of rows) {
    const requests = Number(row.requests)
    if (row.part === 'total') Object.assign(metrics, { requests, latency_ms: latencyOf(row) })
    else if (row.part === 'status') metrics.statuses.push({ status: row.status, requests })
    else metrics.routes.push({ method: row.method, route: row.route, requests, latency_ms: latencyOf(row) })
  }
  for (const row of clients)
    metrics.clients.push({
      client_id: row.client_id,
      requests: Number(row.requests),
      latency_ms: latencyOf(row),
    })
  return metrics
}

export const noRequests = (): HttpMetrics => ({
  requests: 0,
  latency_ms: { p50: 0, p90: 0, p99: 0 },
  routes: [],
  statuses: [],
  clients: [],
})
