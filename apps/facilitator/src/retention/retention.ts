import {
  runRetention,
  type FacilitatorDatabase,
  type PoolClient,
  type RetentionTask,
} from '@tollgate/database'
import { webhookRetentionTasks } from '@tollgate/webhooks'
import { type Environment } from '../config'
import {
  DELETE_CATALOGED_RESOURCES,
  DELETE_CLIENTS,
  DELETE_CLIENT_METRICS,
  DELETE_HTTP_METRICS,
  DELETE_INVITATIONS,
  DELETE_PASSWORD_RESETS,
  DELETE_REFRESH_TOKENS,
  DELETE_REFUSALS,
  DROP_PAYLOADS,
  type StepRow,
} from './retention-sql'

type Periods = Pick<
  Environment,
  | 'RETENTION_PAYLOAD_DAYS'
  | 'RETENTION_REFRESH_TOKEN_DAYS'
  | 'RETENTION_METRICS_DAYS'
  | 'RETENTION_CATALOG_DAYS'
  | 'RETENTION_WEBHOOK_DAYS'
>

/** See docs/retention.md. Deletes no settlement and no transaction. */
export const createRetention =
  (
    { pool }: Pick<FacilitatorDatabase, 'pool'>,
    periods: Periods,
    pace: { limit?: number; pauseMs?: number } = {},
  ) =>
  (signal: AbortSignal) =>
    runRetention({ pool, lock: 'facilitator', tasks: tasksOf(periods), signal, ...pace })

export const retentionTasks = (periods: Periods): string[] => tasksOf(periods).map(({ name }) => name)

const tasksOf = (periods: Periods): RetentionTask[] => [
  task('settlement_payloads', DROP_PAYLOADS, periods.RETENTION_PAYLOAD_DAYS),
  task('refresh_tokens', DELETE_REFRESH_TOKENS, periods.RETENTION_REFRESH_TOKEN_DAYS),
  task('password_resets', DELETE_PASSWORD_RESETS, periods.RETENTION_REFRESH_TOKEN_DAYS),
  task('invitations', DELETE_INVITATIONS, periods.RETENTION_REFRESH_TOKEN_DAYS),
  task('http_metrics', DELETE_HTTP_METRICS, periods.RETENTION_METRICS_DAYS),
  task('client_metrics', DELETE_CLIENT_METRICS, periods.RETENTION_METRICS_DAYS),
  task('settlement_refusals', DELETE_REFUSALS, periods.RETENTION_METRICS_DAYS),
  task('clients', DELETE_CLIENTS, periods.RETENTION_METRICS_DAYS),
  task('cataloged_resources', DELETE_CATALOGED_RESOURCES, periods.RETENTION_CATALOG_DAYS),
  ...webhookRetentionTasks(periods.RETENTION_WEBHOOK_DAYS),
]

/** A statement that deleted its maximum number of rows has more to delete. */
const task = (name: string, text: string, days: number): RetentionTask => ({
  name,
  async step(client: PoolClient, { limit }) {
    const { rows } = await client.query<StepRow>(text, [limit, days])
    const count = rows[0]?.rows ?? 0
    return { rows: count, next: count === limit ? 'more' : undefined }
  },
})
