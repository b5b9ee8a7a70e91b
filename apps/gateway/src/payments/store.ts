import { type GatewayDatabase } from '@tollgate/database'
import { SettleRequest } from '@tollgate/protocol'
import { randomUUID } from 'node:crypto'
import { type Plan } from '../catalog/catalog'

export type PaymentStatus = 'received' | 'settling' | 'settled' | 'credited' | 'failed' | 'disputed'

/**
 * A payment on its way: received -> settling -> settled -> credited | failed. One whose money was moved otherwise than it was signed
 * is disputed until an operator has it credited, or closes it as failed.
 */
export type PaymentRecord = {
  id: string
  wallet: string
  planId: number
  network: string
  payer: string
  amount: string
  credits: number
  status: PaymentStatus
  transaction: string | null
  blockNumber: bigint | null
  errorReason: string | null
  /** What the facilitator says of it. */
  errorDetail: string | null
  attempts: number
  /** Raised each time it is asked about again after a refusal. */
  round: number
  createdAt: Date
  /** Always as the database gives it back, so that the facilitator is asked the same thing each time. */
  request: SettleRequest
}

const columns = `id, wallet, pricing_plan_id AS "planId", network, payer, amount, credits, status, transaction,
  block_number AS "blockNumber", error_reason AS "errorReason", error_detail AS "errorDetail", attempts, round, created_at AS "createdAt", request`

/** A payment that this caller is to ask about. `isAlone`: nobody's earlier question about it can still be answered. */
export type Leased = PaymentRecord & { isAlone: boolean }

/** Longer than the facilitator lets a question claim a payment, be its asker still there or not. */
const QUESTION_SECONDS = 120
/** Longer than an asker waits for its answer. */
const ANSWER_SECONDS = 50

const silence = `now() - make_interval(secs => ${QUESTION_SECONDS})`
const isDue = "status IN ('received', 'settling') AND next_attempt_at <= now()"
const isToCredit = "status = 'settled' AND next_attempt_at <= now()"

/** Payments that a wallet has asked about at the same time: a wallet with many must not keep others waiting. */
const OF_ONE_WALLET = 2

/** A payment that waits to be taken further, and whose it is. */
export type Due = { id: string; wallet: string }

/** How long a settled payment is left alone once it is given out to be credited. */
const CREDIT_AGAIN_SECONDS = 5

/** A refused payment is asked about again no sooner, and each time after twice as long. */
const ASK_AGAIN_SECONDS = 5
/** Refusals whose cause may be gone while the payment is still good: funds arrive, a token is unpaused, fees fall. */
const CURABLE = [
  'insufficient_funds',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_undeployed_smart_wallet',
  'invalid_payment_requirements',
  'invalid_transaction_state',
  'unexpected_settle_error',
  'fee_allowance_exceeded',
]

/** Well before the payment stops counting as open, so that its wallet is asked for no other while this one may settle. */
const ASK_AGAIN_FOR = '10 minutes'

/** $1 the payment, $2 the reasons, $3 until when it can be settled, in Unix seconds. */
const isAskable = `id = $1 AND status = 'failed' AND error_reason = ANY($2) AND extract(epoch FROM now()) < $3::numeric
  AND request_dropped_at IS NULL AND created_at > now() - interval '${ASK_AGAIN_FOR}'
  AND now() >= updated_at + greatest(make_interval(secs => ${ASK_AGAIN_SECONDS}), updated_at - created_at)`

/** Longer than an authorization lasts; one that is stuck for other reasons must not close the wallet out for ever. */
const OPEN_FOR = '15 minutes'

/** What the payer signed, as far as it names one payment among all. */
export type Authorization = { plan: Plan; payer: string; nonce: string }

/** What is known of a wallet that brings a new payment. */
type ApplicantRow = {
  /** The time by the database's clock. */
  now: Date
  isCustomer: boolean
  open: number
}

/** Whose credits it buys, and what the facilitator is asked. */
type Received = { wallet: string; request: SettleRequest }

const insertInto = `INSERT INTO payments
  (id, wallet, pricing_plan_id, network, chain_id, asset, payer, nonce, amount, pay_to, credits, request, updated_at)`
const newRow = '$1::uuid, $2, $3::int, $4, $5, $6, $7, $8, $9::numeric, $10, $11::int, $12::jsonb, now()'
const unlessKnown = `ON CONFLICT (chain_id, asset, payer, nonce) DO NOTHING RETURNING ${columns}`

const row = ({ plan, payer, nonce }: Authorization, { wallet, request }: Received) => [
  randomUUID(),
  wallet,
  plan.id,
  plan.network,
  plan.chainId,
  plan.asset,
  payer,
  nonce,
  plan.amount.toString(),
  plan.payTo,
  plan.credits,
  JSON.stringify(request),
]

/** `disputed` is the id of such a payment. */
type Standing = { isPaying: boolean; disputed: string | null; balance: bigint }

export type PaymentStore = ReturnType<typeof createPaymentStore>

/** Every transition is one statement that names the status it starts from: of two who try, one succeeds. */
export function createPaymentStore({ pool }: GatewayDatabase) {
  const query = async <T extends PaymentRecord>(name: string, text: string, values: unknown[]) =>
    (await pool.query<T>({ name: `payment-${name}`, text, values })).rows.map((row) => ({
      ...row,
      request: SettleRequest.parse(row.request),
    }))

  return {
    /** The payment that this authorization was written down as, whoever brought it. */
    async known({ plan, payer, nonce }: Authorization): Promise<PaymentRecord | undefined> {
      const text = `SELECT ${columns} FROM payments WHERE chain_id = $1 AND asset = $2 AND payer = $3 AND nonce = $4`
      return (await query('known', text, [plan.chainId, plan.asset, payer, nonce]))[0]
    },

    /** Writes a payment down; undefined where its authorization was written down before. */
    receive: async (authorization: Authorization, received: Received): Promise<PaymentRecord | undefined> =>
      (
        await query(
          'receive',
          `${insertInto} VALUES (${newRow}) ${unlessKnown}`,
          row(authorization, received),
        )
      )[0],

    /**
     * Writes a payment down whose authorization failed before and may yet be used: a transaction is refused for what may
     * change, and its payer signs the next one under the same sequence. The one that failed keeps its record, and gives up
     * its nonce. Undefined where it has not failed, or somebody else was faster.
     */
    async tryAgain(
      { id }: PaymentRecord,
      authorization: Authorization,
      received: Received,
    ): Promise<PaymentRecord | undefined> {
      const text = `WITH failed AS (
          UPDATE payments SET nonce = nonce || ' of ' || id, updated_at = now()
          WHERE id = $13 AND status = 'failed' AND nonce = $8 RETURNING id
        )
        ${insertInto} SELECT ${newRow} FROM failed ${unlessKnown}`
      return (await query('try-again', text, [...row(authorization, received), id]))[0]
    },

    async applicant(wallet: string): Promise<ApplicantRow> {
      const text = `SELECT now(), EXISTS (SELECT FROM accounts WHERE wallet = $1) AS "isCustomer",
        (SELECT count(*)::int FROM payments WHERE wallet = $1 AND status IN ('received', 'settling')) AS open`
      const { rows } = await pool.query<ApplicantRow>({ name: 'payment-applicant', text, values: [wallet] })
      if (!rows[0]) throw new Error('Postgres answered no row')
      return rows[0]
    },

    /** How often the facilitator was asked about a payment that may be asked about now; undefined for all others. */
    async dueAttempts(id: string): Promise<number | undefined> {
      const text = `SELECT attempts FROM payments WHERE id = $1 AND ${isDue}`
      const { rows } = await pool.query<{ attempts: number }>({
        name: 'payment-due-attempts',
        text,
        values: [id],
      })
      return rows[0]?.attempts
    },

    async find(id: string): Promise<PaymentRecord | undefined> {
      return (await query('find', `SELECT ${columns} FROM payments WHERE id = $1`, [id]))[0]
    },

    /**
     * Payments that wait for somebody to take them further, the longest waiting first: `atOnce` at most, of which `settled` at
     * most are settled. Those are of one account each and not given again for a few seconds, so that the ones which cannot be
     * credited, for their account is held, keep no other from it. Of the others a wallet has `OF_ONE_WALLET` at most, less those
     * in `busy`, which names the wallet of each payment under way.
     */
    async due({
      atOnce,
      settled,
      busy,
    }: {
      atOnce: number
      settled: number
      busy: string[]
    }): Promise<Due[]> {
      const text = `WITH credited AS MATERIALIZED (
          SELECT id, wallet FROM payments WHERE ${isToCredit} AND id IN (
            SELECT DISTINCT ON (wallet, pricing_plan_id) id FROM payments WHERE ${isToCredit}
            ORDER BY wallet, pricing_plan_id, next_attempt_at)
          ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ), put_off AS (
          UPDATE payments SET next_attempt_at = now() + interval '${CREDIT_AGAIN_SECONDS} seconds'
          WHERE id IN (SELECT id FROM credited)
        )
        SELECT id, wallet FROM credited UNION ALL
        (SELECT id, wallet FROM (
           SELECT id, wallet, next_attempt_at, row_number() OVER (PARTITION BY wallet ORDER BY next_attempt_at) AS place
           FROM payments WHERE ${isDue}) AS waiting
         WHERE place <= ${OF_ONE_WALLET} - (SELECT count(*) FROM unnest($3::text[]) AS of (busy) WHERE busy = waiting.wallet)
         ORDER BY next_attempt_at LIMIT $1 - (SELECT count(*) FROM credited))`
      const values = [atOnce, settled, busy]
      return (await pool.query<Due>({ name: 'payment-due', text, values })).rows
    },

    /**
     * Where a wallet stands on a plan, at one moment: whether a payment may still take its money, so that asking for
     * another would charge it twice, whether one is disputed, and the credits that the payments before it have brought.
     */
    async standing(wallet: string, planId: number): Promise<Standing> {
      const text = `SELECT
        EXISTS (SELECT FROM payments WHERE wallet = $1 AND pricing_plan_id = $2 AND status IN ('received', 'settling', 'settled')
          AND (status = 'settled' OR created_at > now() - interval '${OPEN_FOR}')) AS "isPaying",
        (SELECT id FROM payments WHERE wallet = $1 AND pricing_plan_id = $2 AND status = 'disputed' LIMIT 1) AS disputed,
        coalesce((SELECT balance FROM accounts WHERE wallet = $1 AND pricing_plan_id = $2), 0) AS balance`
      const { rows } = await pool.query<Standing>({
        name: 'payment-standing',
        text,
        values: [wallet, planId],
      })
      return rows[0] ?? { isPaying: false, disputed: null, balance: 0n }
    },

    /**
     * Takes the right to ask the facilitator about a payment, for `seconds`; undefined where somebody else has it. Who asks
     * again after all were silent has it for as long as an answer may take, so that a refusal finds nobody else asking.
     */
    async lease(id: string, seconds: number): Promise<Leased | undefined> {
      const [leased] = await query<Leased>(
        'lease',
        `UPDATE payments SET status = 'settling', attempts = attempts + 1, asked_at = now(), updated_at = now(),
           next_attempt_at = now() + make_interval(secs => CASE WHEN before < ${silence} THEN ${ANSWER_SECONDS} ELSE $2 END)
         FROM (SELECT id AS same, asked_at AS before FROM payments WHERE id = $1 AND ${isDue} FOR UPDATE) AS locked
         WHERE id = same AND ${isDue}
         RETURNING ${columns}, before IS NULL OR before < ${silence} AS "isAlone"`,
        [id, seconds],
      )
      return leased
    },

    /** Money that was taken counts, even where the facilitator had said that it would not be. */
    async settled(id: string, transaction: string, blockNumber: number): Promise<void> {
      await query(
        'settled',
        `UPDATE payments SET status = 'settled', transaction = $2, block_number = $3, error_reason = NULL, error_detail = NULL,
           settled_at = now(), updated_at = now(), next_attempt_at = now()
         WHERE id = $1 AND status IN ('settling', 'failed') RETURNING ${columns}`,
        [id, transaction, blockNumber],
      )
    },

    /**
     * The facilitator refuses the payment. That ends it where no other question about it is open, for that one may still
     * settle it; otherwise all fall silent, and then it is asked about again, alone. Answers whether it has ended.
     */
    async refused(
      { id, attempts, isAlone }: Leased,
      { reason, detail }: { reason: string; detail: string | undefined },
    ): Promise<boolean> {
      const [refused] = await query(
        'refused',
        `UPDATE payments SET status = CASE WHEN $3 AND attempts = $2 THEN 'failed' ELSE status END,
           error_reason = CASE WHEN attempts = $2 THEN $4 ELSE error_reason END,
           error_detail = CASE WHEN attempts = $2 THEN $5 ELSE error_detail END,
           updated_at = now(), next_attempt_at = greatest(next_attempt_at, now() + make_interval(secs => ${QUESTION_SECONDS + 1}))
         WHERE id = $1 AND status = 'settling' RETURNING ${columns}`,
        [id, attempts, isAlone, reason, detail ?? null],
      )
      return refused?.status === 'failed'
    },

    /** Whether `askAgain` would take the payment now. */
    async mayAskAgain(id: string, validUntil: bigint): Promise<boolean> {
      const { rowCount } = await pool.query({
        name: 'payment-may-ask-again',
        text: `SELECT FROM payments WHERE ${isAskable}`,
        values: [id, CURABLE, validUntil.toString()],
      })
      return rowCount === 1
    },

    /**
     * A refused payment without an open question is asked about again while it can be settled (until `validUntil`, Unix
     * seconds), in a round of its own: the facilitator repeats a refusal under the key of the round before. It is charged once all the
     * same, for its authorization is. Undefined where that is not due.
     */
    async askAgain(id: string, validUntil: bigint): Promise<PaymentRecord | undefined> {
      const [again] = await query(
        'ask-again',
        `UPDATE payments SET status = 'received', round = round + 1, asked_at = NULL, error_reason = NULL, error_detail = NULL,
           next_attempt_at = now(), updated_at = now()
         WHERE ${isAskable} RETURNING ${columns}`,
        [id, CURABLE, validUntil.toString()],
      )
      return again
    },

    /** Money was moved, and not as it was signed: nothing ends this but an operator. */
    async disputed(id: string, reason: string, transaction: string): Promise<void> {
      await query(
        'disputed',
        `UPDATE payments SET status = 'disputed', error_reason = $2, transaction = $3, updated_at = now()
         WHERE id = $1 AND status IN ('settling', 'failed') RETURNING ${columns}`,
        [id, reason, transaction],
      )
    },

    /** Not asked about now, for there is no request left; nothing else changes. */
    async postpone(id: string, seconds: number): Promise<void> {
      await query(
        'postpone',
        `UPDATE payments SET error_reason = coalesce(error_reason, 'facilitator_busy'), updated_at = now(),
           next_attempt_at = now() + make_interval(secs => $2)
         WHERE id = $1 AND ${isDue} RETURNING ${columns}`,
        [id, seconds],
      )
    },

    /** Still unknown: to be asked about again in `seconds`. */
    async later(id: string, reason: string, transaction: string | null, seconds: number): Promise<void> {
      await query(
        'later',
        `UPDATE payments SET status = 'settling', error_reason = $2, error_detail = NULL, transaction = coalesce($3, transaction),
           updated_at = now(), next_attempt_at = now() + make_interval(secs => $4)
         WHERE id = $1 AND status IN ('settling', 'failed') RETURNING ${columns}`,
        [id, reason, transaction, seconds],
      )
    },
  }
}
