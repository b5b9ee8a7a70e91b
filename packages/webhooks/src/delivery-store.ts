import { withTransaction, type Pool } from '@tollgate/database'
import { CLAIM } from './claim-sql'
import {
  BACKLOG,
  END_DELETED,
  EXPIRE,
  FORGET_PREVIOUS_SECRETS,
  RECORD_FAILURE,
  RECORD_SUCCESS,
  RELEASE,
} from './delivery-sql'
import { PLAN_BY_INDEX } from './pending-sql'

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
  /** Whether the event exists only for owners that have paid. */
  provesPayment: boolean
  /** Whether its owner has paid, as far as is known. */
  hasPaid: boolean
}

/** `error` is null if the endpoint answered with 2xx. */
export type AttemptResult = { status: number | null; error: string | null }

type Attempt = Pick<ClaimedDelivery, 'id' | 'attempt'>
type EndedAttempt = Attempt & Pick<ClaimedDelivery, 'provesPayment'>
type Result = AttemptResult & { durationMs: number }

/** Deliveries that one statement ends. */
export const END_BATCH = 1_000

/**
 * Each step is one statement, by the clock of the database: any number of replicas share the deliveries. `paidEvents` are the types that
 * exist only for owners that have paid.
 */
export function createDeliveryStore(pool: Pool, paidEvents: readonly string[]) {
  const valuesOf = ({ id, attempt }: Attempt, { durationMs, status, error }: Result) => [
    id,
    attempt,
    Math.round(durationMs),
    status,
    error,
  ]
  const byIndex = <Row extends object>(statement: { name?: string; text: string; values?: unknown[] }) =>
    withTransaction(pool, async (session) => {
      await session.query(PLAN_BY_INDEX)
      return session.query<Row>(statement)
    })

  return {
    async claim(max: number): Promise<ClaimedDelivery[]> {
      const claim = { name: 'webhook-claim', text: CLAIM, values: [max, paidEvents] }
      return (await byIndex<ClaimedDelivery>(claim)).rows
    },

    async recordSuccess(attempt: EndedAttempt, result: Result): Promise<void> {
      const values = [...valuesOf(attempt, result), attempt.provesPayment]
      await byIndex({ name: 'webhook-success', text: RECORD_SUCCESS, values })
    },

    async recordFailure(
      attempt: EndedAttempt & Pick<ClaimedDelivery, 'url'>,
      result: Result,
      retryInMs: number | undefined,
    ): Promise<void> {
      const values = [...valuesOf(attempt, result), retryInMs ?? null, attempt.provesPayment, attempt.url]
      await byIndex({ name: 'webhook-failure', text: RECORD_FAILURE, values })
    },

    async release({ id, attempt }: Attempt): Promise<void> {
      await pool.query(RELEASE, [id, attempt])
    },

    async forgetPreviousSecrets(): Promise<void> {
      await pool.query(FORGET_PREVIOUS_SECRETS)
    },

    /** Returns how many deliveries it gave up, at most END_BATCH; the same for `endDeleted`. */
    async expire(): Promise<number> {
      return (await byIndex({ text: EXPIRE, values: [END_BATCH] })).rowCount ?? 0
    },

    /** Ends deliveries of deleted endpoints. */
    async endDeleted(): Promise<number> {
      return (await byIndex({ text: END_DELETED, values: [END_BATCH] })).rowCount ?? 0
    },

    async readBacklog(): Promise<{ pending: bigint; oldestSeconds: number }> {
      const { rows } = await byIndex<{ pending: bigint; oldestSeconds: number }>({ text: BACKLOG })
      return rows[0] ?? { pending: 0n, oldestSeconds: 0 }
    },
  }
}
