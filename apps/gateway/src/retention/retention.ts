import { runRetention, type GatewayDatabase, type PoolClient, type RetentionTask } from '@tollgate/database'
import { webhookRetentionTasks } from '@tollgate/webhooks'
import { type Environment } from '../config'
import {
  DELETE_ACCESS_KEYS,
  DELETE_FAILED_PAYMENTS,
  DELETE_FREE_CREDIT_SHARES,
  DELETE_PAYMENT_IDENTIFIERS,
  DELETE_SESSIONS,
  DELETE_USAGE,
  deleteUsageTotals,
  DROP_REQUESTS,
  type StepRow,
} from './retention-sql'

type Periods = Pick<
  Environment,
  | 'RETENTION_USAGE_DAYS'
  | 'RETENTION_USAGE_TOTALS_DAYS'
  | 'RETENTION_PAYMENT_REQUEST_DAYS'
  | 'RETENTION_FAILED_PAYMENT_DAYS'
  | 'RETENTION_SESSION_DAYS'
  | 'RETENTION_WEBHOOK_DAYS'
>

/** See docs/retention.md. No statement selects a payment or call that is still open. */
export const createRetention =
  (
    { pool }: Pick<GatewayDatabase, 'pool'>,
    periods: Periods,
    pace: { limit?: number; pauseMs?: number } = {},
  ) =>
  (signal: AbortSignal) =>
    runRetention({ pool, lock: 'gateway', tasks: tasksOf(periods), signal, ...pace })

export const retentionTasks = (periods: Periods): string[] => tasksOf(periods).map(({ name }) => name)

const tasksOf = (periods: Periods): RetentionTask[] => [
  task('payment_requests', DROP_REQUESTS, periods.RETENTION_PAYMENT_REQUEST_DAYS),
  task('failed_payments', DELETE_FAILED_PAYMENTS, periods.RETENTION_FAILED_PAYMENT_DAYS),
  task('payment_identifiers', DELETE_PAYMENT_IDENTIFIERS, periods.RETENTION_PAYMENT_REQUEST_DAYS),
  task('free_credit_shares', DELETE_FREE_CREDIT_SHARES, 0),
  task('sessions', DELETE_SESSIONS, periods.RETENTION_SESSION_DAYS),
  task('usage', DELETE_USAGE, periods.RETENTION_USAGE_DAYS),
  task('access_keys', DELETE_ACCESS_KEYS, periods.RETENTION_USAGE_DAYS),
  task('usage_hours', deleteUsageTotals('hour'), periods.RETENTION_USAGE_DAYS),
  task('usage_days', deleteUsageTotals('day'), periods.RETENTION_USAGE_TOTALS_DAYS),
  ...webhookRetentionTasks(periods.RETENTION_WEBHOOK_DAYS),
]

const task = (name: string, text: string, days: number): RetentionTask => ({
  name,
  async step(client: PoolClient, { after, limit }) {
    const { rows } = await client.query<StepRow>(text, [limit, days, after ?? '0'])
    return { rows: rows[0]?.rows ?? 0, next: rows[0]?.next ?? undefined }
  },
})
