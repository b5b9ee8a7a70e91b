import { type GatewayDatabase } from '@tollgate/database'
import { type SettleResult } from '@tollgate/protocol'
import { COLUMNS, createPaymentQuery, type PaymentRecord } from './payment-record'

/** `hasNoOpenRequest`: no earlier settle request for the payment can still be answered. */
export type LeasedPayment = PaymentRecord & { hasNoOpenRequest: boolean }

export type DuePayment = { id: string; wallet: string }

/** Must exceed the facilitator's claim window (60 s), even if our request was dropped. */
const CLAIM_WINDOW_SECONDS = 120
/** Must exceed the timeout of a settle request. */
const SETTLE_REQUEST_SECONDS = 50
const CREDIT_RETRY_SECONDS = 5
/** Payments of one wallet that are settled at the same time, so that one wallet cannot delay the others. */
const MAX_PER_WALLET = 2

const NO_REQUEST_OPEN_SINCE = `now() - make_interval(secs => ${CLAIM_WINDOW_SECONDS})`
const IS_DUE = "status IN ('received', 'settling') AND next_attempt_at <= now()"
const IS_CREDITABLE = "status = 'settled' AND next_attempt_at <= now()"

export type SettlementStore = ReturnType<typeof createSettlementStore>

/** Each step is one statement that names the status it starts from, so one of two replicas wins. */
export function createSettlementStore({ pool }: Pick<GatewayDatabase, 'pool'>) {
  const query = createPaymentQuery(pool)

  return {
    /**
     * Returns at most `limit` due payments, oldest first, of which at most `maxSettled` are settled. Settled payments are of
     * different accounts and are held back for a few seconds, so that a locked account cannot block the others. Of the rest, a
     * wallet has at most MAX_PER_WALLET, minus its entries in `busyWallets`.
     */
    async findDue({
      limit,
      maxSettled,
      busyWallets,
    }: {
      limit: number
      maxSettled: number
      busyWallets: string[]
    }): Promise<DuePayment[]> {
      const text = `WITH credited AS MATERIALIZED (
          SELECT id, wallet FROM payments WHERE ${IS_CREDITABLE} AND id IN (
            SELECT DISTINCT ON (wallet, pricing_plan_id) id FROM payments WHERE ${IS_CREDITABLE}
            ORDER BY wallet, pricing_plan_id, next_attempt_at)
          ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), put_off AS (
          UPDATE payments SET next_attempt_at = now() + INTERVAL '${CREDIT_RETRY_SECONDS} seconds'
          WHERE id IN (SELECT id FROM credited)
        )
        SELECT id, wallet FROM credited UNION ALL
        (SELECT id, wallet FROM (
           SELECT id, wallet, next_attempt_at, row_number() OVER (PARTITION BY wallet ORDER BY next_attempt_at) AS place
           FROM payments WHERE ${IS_DUE}) AS waiting
         WHERE place <= ${MAX_PER_WALLET} - (SELECT count(*) FROM unnest($3::text[]) AS of (busy) WHERE busy = waiting.wallet)
         ORDER BY next_attempt_at LIMIT $1 - (SELECT count(*) FROM credited))`
      const values = [limit, maxSettled, busyWallets]
      return (await pool.query<DuePayment>({ name: 'payment-find-due', text, values })).rows
    },

    async findDueAttempts(id: string): Promise<number | undefined> {
      const text = `SELECT attempts FROM payments WHERE id = $1 AND ${IS_DUE}`
      const { rows } = await pool.query<{ attempts: number }>({
        name: 'payment-find-due-attempts',
        text,
        values: [id],
      })
      return rows[0]?.attempts
    },

    /**
     * Leases the right to send a settle request, for `seconds`; undefined if another caller holds it. If no request is open the
     * lease lasts as long as an answer can take, so that a refusal finds no other request open.
     * `traceparent` counts if the payment has none.
     */
    async lease(id: string, seconds: number, traceparent?: string): Promise<LeasedPayment | undefined> {
      const [leased] = await query<LeasedPayment>(
        'lease',
        `UPDATE payments SET status = 'settling', attempts = attempts + 1, asked_at = now(), updated_at = now(),
           traceparent = coalesce(traceparent, $3),
           next_attempt_at = now() + make_interval(secs => CASE WHEN before < ${NO_REQUEST_OPEN_SINCE} THEN ${SETTLE_REQUEST_SECONDS} ELSE $2 END)
         FROM (SELECT id AS same, asked_at AS before FROM payments WHERE id = $1 AND ${IS_DUE} FOR UPDATE) AS locked
         WHERE id = same AND ${IS_DUE}
         RETURNING ${COLUMNS}, before IS NULL OR before < ${NO_REQUEST_OPEN_SINCE} AS "hasNoOpenRequest"`,
        [id, seconds, traceparent ?? null],
      )
      return leased
    },

    /** Delays the next settle request without counting an attempt. */
    async postpone(id: string, seconds: number): Promise<void> {
      await query(
        'postpone',
        `UPDATE payments SET error_reason = coalesce(error_reason, 'facilitator_busy'), updated_at = now(),
           next_attempt_at = now() + make_interval(secs => $2)
         WHERE id = $1 AND ${IS_DUE} RETURNING ${COLUMNS}`,
        [id, seconds],
      )
    },

    async scheduleRetry(
      id: string,
      reason: string,
      transaction: string | null,
      seconds: number,
    ): Promise<void> {
      await query(
        'schedule-retry',
        `UPDATE payments SET status = 'settling', error_reason = $2, error_detail = NULL, transaction = coalesce($3, transaction),
           updated_at = now(), next_attempt_at = now() + make_interval(secs => $4)
         WHERE id = $1 AND status IN ('settling', 'failed') RETURNING ${COLUMNS}`,
        [id, reason, transaction, seconds],
      )
    },

    /** Settles a refused payment too: the facilitator did take the money. One that had `arrived` no longer serves a call by itself. */
    async markSettled(
      id: string,
      {
        transaction,
        blockNumber,
        arrived = false,
      }: Pick<SettleResult, 'transaction' | 'blockNumber' | 'arrived'>,
    ): Promise<void> {
      await query(
        'mark-settled',
        `UPDATE payments SET status = 'settled', transaction = $2, block_number = $3, error_reason = NULL, error_detail = NULL,
           settled_at = now(), updated_at = now(), next_attempt_at = now(),
           arrived = $4, call_state = CASE WHEN NOT $4 THEN call_state END
         WHERE id = $1 AND status IN ('settling', 'failed') RETURNING ${COLUMNS}`,
        [id, transaction, blockNumber, arrived],
      )
    },

    /**
     * Fails the payment only if no other settle request is open, which could still settle it; otherwise the payment is retried
     * after the claim window. Returns whether it failed; its identifier is then free for another payment.
     */
    async markRefused(
      { id, attempts, hasNoOpenRequest }: LeasedPayment,
      { reason, detail }: { reason: string; detail: string | undefined },
    ): Promise<boolean> {
      const [refused] = await query(
        'mark-refused',
        `WITH refused AS (
           UPDATE payments SET status = CASE WHEN $3 AND attempts = $2 THEN 'failed' ELSE status END,
             error_reason = CASE WHEN attempts = $2 THEN $4 ELSE error_reason END,
             error_detail = CASE WHEN attempts = $2 THEN $5 ELSE error_detail END,
             updated_at = now(), next_attempt_at = greatest(next_attempt_at, now() + make_interval(secs => ${CLAIM_WINDOW_SECONDS + 1}))
           WHERE id = $1 AND status = 'settling' RETURNING ${COLUMNS}
         ), freed AS (
           DELETE FROM payment_identifiers WHERE payment_id = (SELECT id FROM refused WHERE status = 'failed')
         )
         SELECT * FROM refused`,
        [id, attempts, hasNoOpenRequest, reason, detail ?? null],
      )
      return refused?.status === 'failed'
    },

    /** Only an operator resolves a dispute. Returns false if the payment had ended before. */
    async markDisputed(id: string, reason: string, transaction: string): Promise<boolean> {
      const disputed = await query(
        'mark-disputed',
        `UPDATE payments SET status = 'disputed', error_reason = $2, transaction = $3, updated_at = now()
         WHERE id = $1 AND status IN ('settling', 'failed') RETURNING ${COLUMNS}`,
        [id, reason, transaction],
      )
      return disputed.length === 1
    },
  }
}
