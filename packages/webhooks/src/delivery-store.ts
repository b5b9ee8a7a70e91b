import { type Pool } from '@tollgate/database'
import {
  BACKLOG,
  CLAIM,
  EXPIRE,
  FORGET_PREVIOUS_SECRETS,
  RECORD_FAILURE,
  RECORD_SUCCESS,
  RELEASE,
} from './delivery-sql'

export type ClaimedDelivery = {
  id: bigint
  /** Names this attempt: the result of another one changes nothing. */
  attempt: number
  endpointId: string
  url: string
  secrets: string[]
  messageId: string
  type: string
  /** JSON. */
  data: string
  createdAt: Date
  /** Since its event, or its newest replay. */
  elapsedMs: number
}

/** `error` is null if the endpoint answered with 2xx. */
export type AttemptResult = { status: number | null; error: string | null }

type Attempt = Pick<ClaimedDelivery, 'id' | 'attempt'>
type Result = AttemptResult & { durationMs: number }

const MAX_EXPIRED_AT_ONCE = 1_000

/** Each step is one statement, by the clock of the database: any number of replicas share the deliveries. */
export function createDeliveryStore(pool: Pool) {
  const valuesOf = ({ id, attempt }: Attempt, { durationMs, status, error }: Result) => [
    id,
    attempt,
    Math.round(durationMs),
    status,
    error,
  ]
  return {
    async claim(max: number): Promise<ClaimedDelivery[]> {
      const claim = { name: 'webhook-claim', text: CLAIM, values: [max] }
      return (await pool.query<ClaimedDelivery>(claim)).rows
    },

    async recordSuccess(attempt: Attempt, result: Result): Promise<void> {
      await pool.query({ name: 'webhook-success', text: RECORD_SUCCESS, values: valuesOf(attempt, result) })
    },

    async recordFailure(attempt: Attempt, result: Result, retryInMs: number | undefined): Promise<void> {
      const values = [...valuesOf(attempt, result), retryInMs ?? null]
      await pool.query({ name: 'webhook-failure', text: RECORD_FAILURE, values })
    },

    async release({ id, attempt }: Attempt): Promise<void> {
      await pool.query(RELEASE, [id, attempt])
    },

    /** Returns how many deliveries it gave up. */
    async expire(): Promise<number> {
      await pool.query(FORGET_PREVIOUS_SECRETS)
      return (await pool.query(EXPIRE, [MAX_EXPIRED_AT_ONCE])).rowCount ?? 0
    },

    async readBacklog(): Promise<{ pending: bigint; oldestSeconds: number }> {
      const { rows } = await pool.query<{ pending: bigint; oldestSeconds: number }>(BACKLOG)
      return rows[0] ?? { pending: 0n, oldestSeconds: 0 }
    },
  }
}
