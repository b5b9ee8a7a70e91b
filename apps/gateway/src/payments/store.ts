import { DatabaseError, type GatewayDatabase } from '@tollgate/database'
import { FREE_PLAN_ID, transientReasons, type SettleRequest } from '@tollgate/protocol'
import { randomUUID } from 'node:crypto'
import { type Plan } from '../catalog/catalog'
import { identifierTaken, type Identifier } from '../extensions/payment-identifier'
import { COLUMNS, createPaymentQuery, type PaymentRecord } from './payment-record'

/** Identifies one payment: the payer signs each nonce once. */
export type Authorization = { plan: Plan; payer: string; nonce: string }

/** `presentedBy` is set if the payment came without a session, and so serves one call. */
type NewPurchase = {
  wallet: string
  request: SettleRequest
  presentedBy: Buffer | undefined
  identifier: Identifier | undefined
  traceparent: string | undefined
}

type Applicant = {
  now: Date
  isCustomer: boolean
  open: number
}

/** `disputed` is the id of a disputed payment, `free` the balance in free credits; null for a wallet that was given none. */
type WalletStatus = { isPaying: boolean; disputed: string | null; balance: bigint; free: bigint | null }

const REOPEN_DELAY_SECONDS = 5
/** Must be shorter than OPEN_INTERVAL, so that the wallet is asked for no other payment while this one may settle. */
const REOPEN_INTERVAL = '10 minutes'
/** Must exceed the validity of an authorization. After it, a stuck payment no longer blocks the wallet. */
const OPEN_INTERVAL = '15 minutes'

/** How long after its end an authorization may be found to have been used in time: as long as a facilitator counts such payments. */
const ARRIVAL_INTERVAL = '10 minutes'

/**
 * $1 payment id, $2 round, $3 reasons, $4 end of validity in Unix seconds, $5 whether it is corrected. The same again needs a reason
 * that may have passed, and a delay that doubles with each reopening. A correction may cure any refusal, but not of an
 * authorization that has moved money. One that has ended cannot be settled any more: it can only have arrived meanwhile, sent by its
 * payer, whatever it was refused for.
 */
const IS_REOPENABLE = `id = $1 AND status = 'failed' AND round = $2 AND request_dropped_at IS NULL
  AND error_reason NOT IN ('duplicate_settlement', 'transfer_event_mismatch')
  AND CASE WHEN extract(epoch FROM now()) < $4::numeric THEN created_at > now() - interval '${REOPEN_INTERVAL}'
    ELSE extract(epoch FROM now() - interval '${ARRIVAL_INTERVAL}') < $4::numeric END
  AND ($5 OR (error_reason = ANY($3) OR extract(epoch FROM now()) >= $4::numeric)
    AND now() >= updated_at + greatest(make_interval(secs => ${REOPEN_DELAY_SECONDS}), updated_at - created_at))`

const INSERT_INTO = `INSERT INTO payments
  (id, wallet, pricing_plan_id, network, chain_id, asset, payer, nonce, amount, pay_to, credits, request, presented_by, call_state,
  traceparent, updated_at)`
const NEW_ROW = `$1::uuid, $2, $3::int, $4, $5, $6, $7, $8, $9::numeric, $10, $11::int, $12::jsonb, $13::bytea,
  CASE WHEN $13::bytea IS NOT NULL THEN 'open' END, $16, now()`
const UNLESS_KNOWN = `ON CONFLICT (chain_id, asset, payer, nonce) DO NOTHING RETURNING ${COLUMNS}`

/**
 * Gives the recorded payment its identifier, in the same commit: two payments with one identifier cannot both be settled. Fails
 * if another payment has it. A refused payment gives it up; see the settlement store.
 */
const withIdentifier = (recorded: string, id: string, fingerprint: string) => `${recorded}, identified AS (
    INSERT INTO payment_identifiers (payer, id, fingerprint, payment_id)
    SELECT payer, ${id}::text, ${fingerprint}::text, id FROM recorded WHERE ${id}::text IS NOT NULL
  )
  SELECT * FROM recorded`

const valuesOf = (
  { plan, payer, nonce }: Authorization,
  { wallet, request, presentedBy, identifier, traceparent }: NewPurchase,
) => [
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
  presentedBy ?? null,
  identifier?.id ?? null,
  identifier?.fingerprint ?? null,
  traceparent ?? null,
]

/** `validUntil`: Unix seconds. `isCorrected`: other unsigned parts, or another signature, than were refused. */
type Reopening = Pick<SettleRequest, 'paymentPayload'> & { validUntil: bigint; isCorrected: boolean }
type Refused = Pick<PaymentRecord, 'id' | 'round'>

const valuesOfReopening = (
  { id, round }: Refused,
  { validUntil, isCorrected }: Omit<Reopening, 'paymentPayload'>,
) => [id, round, transientReasons, validUntil.toString(), isCorrected]

/** @throws ApiError CONFLICT */
const refuseTaken = (identifier: Identifier | undefined) => (error: unknown) => {
  const isTaken = error instanceof DatabaseError && error.constraint === 'payment_identifiers_pkey'
  throw isTaken && identifier ? identifierTaken(identifier.id) : error
}

export type PaymentStore = ReturnType<typeof createPaymentStore>

export function createPaymentStore({ pool }: Pick<GatewayDatabase, 'pool'>) {
  const query = createPaymentQuery(pool)

  return {
    /** True for one of the calls with the payment: the trace continues with that one, so that repeats are not sampled by it. */
    async takeTrace(id: string): Promise<boolean> {
      const text = `UPDATE payments SET traceparent = left(traceparent, -2) || '00'
        WHERE id = $1 AND right(traceparent, 2) <> '00'`
      return (await pool.query({ name: 'payment-take-trace', text, values: [id] })).rowCount === 1
    },

    async find(id: string): Promise<PaymentRecord | undefined> {
      return (await query('find', `SELECT ${COLUMNS} FROM payments WHERE id = $1`, [id]))[0]
    },

    async findByAuthorization({ plan, payer, nonce }: Authorization): Promise<PaymentRecord | undefined> {
      const text = `SELECT ${COLUMNS} FROM payments WHERE chain_id = $1 AND asset = $2 AND payer = $3 AND nonce = $4`
      return (await query('find-by-authorization', text, [plan.chainId, plan.asset, payer, nonce]))[0]
    },

    /** Undefined if the payment is known. @throws ApiError CONFLICT if another payment has its identifier */
    async create(authorization: Authorization, purchase: NewPurchase): Promise<PaymentRecord | undefined> {
      const recorded = `WITH recorded AS (${INSERT_INTO} VALUES (${NEW_ROW}) ${UNLESS_KNOWN})`
      const text = withIdentifier(recorded, '$14', '$15')
      const stored = query('create', text, valuesOf(authorization, purchase))
      return (await stored.catch(refuseTaken(purchase.identifier)))[0]
    },

    /**
     * Records a new payment under the nonce of a failed one, which keeps its row and gives up the nonce: the payer of a refused
     * transaction signs the next one under the same sequence. Returns undefined if the payment has not failed or another call won.
     *
     * @throws ApiError CONFLICT if another payment has its identifier
     */
    async createRetry(
      { id }: PaymentRecord,
      authorization: Authorization,
      purchase: NewPurchase,
    ): Promise<PaymentRecord | undefined> {
      const recorded = `WITH failed AS (
          UPDATE payments SET nonce = nonce || ' of ' || id, updated_at = now()
          WHERE id = $17 AND status = 'failed' AND nonce = $8 RETURNING id
        ), recorded AS (${INSERT_INTO} SELECT ${NEW_ROW} FROM failed ${UNLESS_KNOWN})`
      const text = withIdentifier(recorded, '$14', '$15')
      const stored = query('create-retry', text, [...valuesOf(authorization, purchase), id])
      return (await stored.catch(refuseTaken(purchase.identifier)))[0]
    },

    async canReopen(refused: Refused, reopening: Reopening): Promise<boolean> {
      const { rowCount } = await pool.query({
        name: 'payment-can-reopen',
        text: `SELECT FROM payments WHERE ${IS_REOPENABLE}`,
        values: valuesOfReopening(refused, reopening),
      })
      return rowCount === 1
    },

    /**
     * Reopens a refused payment in a new round, while it can still be settled, as it is presented now: its payer may have corrected
     * it. Its requirements stay. Under the idempotency key of the old round the facilitator would repeat its refusal. Returns
     * undefined if it cannot be reopened now.
     *
     * @throws ApiError CONFLICT if another payment has its identifier
     */
    async reopen(
      refused: Refused,
      reopening: Reopening,
      { presentedBy, identifier }: Pick<NewPurchase, 'presentedBy' | 'identifier'>,
    ): Promise<PaymentRecord | undefined> {
      const recorded = `WITH recorded AS (
         UPDATE payments SET status = 'received', round = round + 1, asked_at = NULL, error_reason = NULL, error_detail = NULL,
           request = jsonb_set(request, '{paymentPayload}', $6::jsonb),
           call_state = CASE WHEN $7::bytea IS NULL THEN call_state ELSE 'open' END,
           presented_by = coalesce($7::bytea, presented_by), next_attempt_at = now(), updated_at = now()
         WHERE ${IS_REOPENABLE} RETURNING ${COLUMNS})`
      const reopened = query('reopen', withIdentifier(recorded, '$8', '$9'), [
        ...valuesOfReopening(refused, reopening),
        JSON.stringify(reopening.paymentPayload),
        presentedBy ?? null,
        identifier?.id ?? null,
        identifier?.fingerprint ?? null,
      ])
      return (await reopened.catch(refuseTaken(identifier)))[0]
    },

    async getApplicant(wallet: string): Promise<Applicant> {
      const text = `SELECT now(), EXISTS (SELECT FROM accounts WHERE wallet = $1 AND pricing_plan_id <> ${FREE_PLAN_ID}) AS "isCustomer",
        (SELECT count(*)::int FROM payments WHERE wallet = $1 AND status IN ('received', 'settling')) AS open`
      const { rows } = await pool.query<Applicant>({ name: 'payment-get-applicant', text, values: [wallet] })
      if (!rows[0]) throw new Error('Postgres returned no row')
      return rows[0]
    },

    /** `isPaying`: a payment may still take the money of this wallet, so asking for another could charge it twice. */
    async getWalletStatus(wallet: string, planId: number): Promise<WalletStatus> {
      const text = `SELECT
        EXISTS (SELECT FROM payments WHERE wallet = $1 AND pricing_plan_id = $2 AND status IN ('received', 'settling', 'settled')
          AND (status = 'settled' OR created_at > now() - INTERVAL '${OPEN_INTERVAL}')) AS "isPaying",
        (SELECT id FROM payments WHERE wallet = $1 AND pricing_plan_id = $2 AND status = 'disputed' LIMIT 1) AS disputed,
        coalesce((SELECT balance FROM accounts WHERE wallet = $1 AND pricing_plan_id = $2), 0) AS balance,
        (SELECT balance FROM accounts WHERE wallet = $1 AND pricing_plan_id = ${FREE_PLAN_ID}) AS free`
      const { rows } = await pool.query<WalletStatus>({
        name: 'payment-get-wallet-status',
        text,
        values: [wallet, planId],
      })
      return rows[0] ?? { isPaying: false, disputed: null, balance: 0n, free: null }
    },
  }
}
