import {
  HttpMetricsByDay,
  HttpMetricsByMonth,
  HttpMetricsSummary,
  MetricsQuery,
  SettlementMetricsByDay,
  SettlementMetricsByMonth,
  SettlementMetricsSummary,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { type z } from 'zod'
import { callers, refusals } from './errors'

const tag = 'Metrics'

const metrics = (id: string, path: string, summary: string, schema: z.ZodType): Operation => ({
  id,
  method: 'get',
  path,
  tag,
  summary,
  description:
    'Of your own access tokens and client keys; admins get those of all users. `from` and `to` are included, in UTC.',
  auth: callers.user,
  query: MetricsQuery,
  answers: { 200: { description: 'The metrics.', schema } },
  errors: {
    INVALID_REQUEST: '`from` or `to` is not a date, `from` is later than `to`, or they are too far apart.',
    ...refusals.user,
    ...refusals.longResponses,
  },
})

export const metricsOperations: Operation[] = [
  metrics('getRequestsByDay', '/api/v1/metrics/daily', 'Get HTTP requests by day.', HttpMetricsByDay),
  metrics('getRequestsByMonth', '/api/v1/metrics/monthly', 'Get HTTP requests by month.', HttpMetricsByMonth),
  metrics('getRequests', '/api/v1/metrics/summary', 'Get HTTP requests altogether.', HttpMetricsSummary),
  metrics(
    'getSettlementsByDay',
    '/api/v1/x402-metrics/daily',
    'Get settlements by day.',
    SettlementMetricsByDay,
  ),
  metrics(
    'getSettlementsByMonth',
    '/api/v1/x402-metrics/monthly',
    'Get settlements by month.',
    SettlementMetricsByMonth,
  ),
  metrics(
    'getSettlements',
    '/api/v1/x402-metrics/summary',
    'Get settlements altogether.',
    SettlementMetricsSummary,
  ),
]
