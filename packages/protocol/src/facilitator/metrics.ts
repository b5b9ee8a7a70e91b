import { z } from 'zod'
import { Day } from '../query'
import { exampleAsset } from './fields'

export const MAX_LISTED_METRICS = 100

/** Both days are included, in UTC. A query covers at most 366 days or 120 months. */
export const MetricsQuery = z.object({
  from: Day.optional().meta({
    description:
      'The first day, UTC. If omitted: the 30 days or 12 months that end with `to`; for a summary, since the beginning.',
  }),
  to: Day.optional().meta({
    description: 'The last day, UTC. If omitted: today; for a summary, no end.',
  }),
})
export type MetricsQuery = z.infer<typeof MetricsQuery>

const RequestCount = z.int().min(0).describe('The number of requests.')

/** Percentiles from a histogram: the upper bound of the bucket, at most 10% above the true value. */
const Latency = z.object({ p50: z.number(), p90: z.number(), p99: z.number() }).meta({
  id: 'Latency',
  description:
    'The 50th, 90th and 99th percentile of the latency, in milliseconds. Each is at most a tenth above the true value, at least 0.5, and 60000 for anything slower; 0 where there were no requests.',
})

const httpFields = {
  requests: RequestCount,
  latency_ms: Latency,
  routes: z
    .array(z.object({ method: z.string(), route: z.string(), requests: RequestCount, latency_ms: Latency }))
    .max(MAX_LISTED_METRICS)
    .describe('By method and route, most requests first.'),
  statuses: z
    .array(z.object({ status: z.int(), requests: RequestCount }))
    .describe('By status, ascending. 499: the caller disconnected before the response.'),
  clients: z
    .array(z.object({ client_id: z.string(), requests: RequestCount, latency_ms: Latency }))
    .max(MAX_LISTED_METRICS)
    .describe('By client key, most requests first. Requests without a client key are not in this list.'),
}

const exampleLatency = { p50: 4.1, p90: 9.8, p99: 31.5 }
const exampleHttp = {
  requests: 42,
  latency_ms: exampleLatency,
  routes: [{ method: 'POST', route: '/api/v1/verify', requests: 42, latency_ms: exampleLatency }],
  statuses: [{ status: 200, requests: 42 }],
  clients: [{ client_id: 'client_5f0c9a4e1b7d2f3a6c8e9b01', requests: 42, latency_ms: exampleLatency }],
}

export const HttpMetrics = z.object(httpFields).meta({ id: 'HttpMetrics', examples: [exampleHttp] })
export type HttpMetrics = z.infer<typeof HttpMetrics>

/** Unbounded: a sum may have more digits than an `Amount`. */
const Total = z.string().regex(/^(0|[1-9][0-9]*)$/)

const settlementFields = {
  settled: z.int().min(0).describe('The number of settled payments.'),
  failed: z.int().min(0).describe('The number of refused and failed settlements.'),
  reversed: z
    .int()
    .min(0)
    .describe(
      'How many were settled and then reversed by a reorganization of their chain; these are not in `settled`, `failed` or `amounts`.',
    ),
  duplicates: z
    .int()
    .min(0)
    .describe(
      'The number of requests refused because their payment was settled before; these are not in `failed`, `networks` or `failures`.',
    ),
  amounts: z
    .array(
      z.object({
        network: z.string(),
        asset: z.string(),
        symbol: z.string(),
        decimals: z.int(),
        settled: z.int().min(0),
        amount: Total.describe('The total paid in this asset, in its smallest unit.'),
      }),
    )
    .describe('The settled amounts, by asset.'),
  fees: z
    .array(
      z.object({
        network: z.string(),
        transactions: z
          .int()
          .min(0)
          .describe(
            'How many transactions carried them; one that is shared is counted for each period and user.',
          ),
        amount: Total.describe(
          'Their shares of the fees, in the smallest unit of the network’s native currency.',
        ),
      }),
    )
    .describe(
      'What the networks charged for these settlements, including for transactions that failed. Settlements that share a transaction share its fee, in whole units that add up to it.',
    ),
  networks: z
    .array(
      z.object({
        network: z.string(),
        settled: z.int().min(0),
        failed: z.int().min(0),
        reversed: z.int().min(0),
      }),
    )
    .describe('By network. Requests for unknown networks are not in this list.'),
  failures: z
    .array(z.object({ reason: z.string(), failed: z.int().min(0) }))
    .describe('By reason, most frequent first.'),
}

const exampleSettlements = {
  settled: 40,
  failed: 2,
  reversed: 0,
  duplicates: 1,
  amounts: [
    {
      network: 'base-sepolia',
      asset: exampleAsset,
      symbol: 'USDC',
      decimals: 6,
      settled: 40,
      amount: '400000',
    },
  ],
  fees: [{ network: 'base-sepolia', transactions: 40, amount: '3280000000000' }],
  networks: [{ network: 'base-sepolia', settled: 40, failed: 2, reversed: 0 }],
  failures: [{ reason: 'insufficient_funds', failed: 2 }],
}

export const SettlementMetrics = z
  .object(settlementFields)
  .meta({ id: 'SettlementMetrics', examples: [exampleSettlements] })
export type SettlementMetrics = z.infer<typeof SettlementMetrics>

const day = z
  .string()
  .describe('UTC, like 2026-01-31.')
  .meta({ examples: ['2026-01-31'] })
const month = z
  .string()
  .describe('UTC, like 2026-01.')
  .meta({ examples: ['2026-01'] })

/** Omits periods without requests; oldest first. */
export const HttpMetricsByDay = z
  .object({ data: z.array(z.object({ day, ...httpFields })) })
  .meta({ examples: [{ data: [{ day: '2026-01-31', ...exampleHttp }] }] })
export const HttpMetricsByMonth = z
  .object({ data: z.array(z.object({ month, ...httpFields })) })
  .meta({ examples: [{ data: [{ month: '2026-01', ...exampleHttp }] }] })
export const HttpMetricsSummary = z.object({ data: HttpMetrics }).meta({ examples: [{ data: exampleHttp }] })

export const SettlementMetricsByDay = z
  .object({ data: z.array(z.object({ day, ...settlementFields })) })
  .meta({ examples: [{ data: [{ day: '2026-01-31', ...exampleSettlements }] }] })
export const SettlementMetricsByMonth = z
  .object({ data: z.array(z.object({ month, ...settlementFields })) })
  .meta({ examples: [{ data: [{ month: '2026-01', ...exampleSettlements }] }] })
export const SettlementMetricsSummary = z
  .object({ data: SettlementMetrics })
  .meta({ examples: [{ data: exampleSettlements }] })
