import { type Pool } from '@tollgate/database'
import { type ReasonCode } from '@tollgate/protocol'
import { type PaymentRequest } from './payment-request'
import { CLAIMED_CHANNEL } from '../settlement/channels'
import { type Session } from '../settlement/session'
import { inShortTransaction, STALL_LIMIT_SECONDS } from '../settlement/short-transaction'
import { isMismatched, isOpenSql, type SettlementStatus } from '../settlement/status'

export type Requester = { clientId: string; requestHash: Buffer; idempotencyKey: string | null }

export type Settlement = Requester & {
  id: bigint
  /** Of the request that claimed it. */
  requestId: string | null
  network: string
  payer: string
  status: SettlementStatus
  transactionHash: string | null
  blockNumber: bigint | null
  errorReason: ReasonCode | null
  /** For log and response texts; decisions use `errorReason`. */
  errorDetail: string | null
  settledAt: Date | null
  endedAt: Date | null
  successReportedAt: Date | null
}

/**
 * Why a payment can be claimed: `valid`; `unused`, a valid transaction signed by its payer, whose nonce is therefore free; or
 * `paid`, an earlier broadcast for it was mined after all.
 */
export type ClaimBasis = 'valid' | 'unused' | 'paid'

/** The blocks decide later whether a transfer was made for this claim. */
export type ClaimEvidence = {
  basis: ClaimBasis
  /** The payment was found valid or paid by this block. */
  minBlock: bigint
  /** The payment's nonce was unused in this block. */
  unspentAtBlock: bigint | null
  /** The newest block of any node: a later transfer may be for this claim. */
  seenBlock: bigint
  /** The earlier claim was for the same payment: its `unspentAtBlock` and `seenBlock` still hold. */
  isSamePayment: boolean
}

export type NewClaim = ClaimEvidence & {
  requestId: string
  /** The end of the claim window, by the clock of Postgres. */
  until: Date
}

export type EarlierClaim = { payload: unknown; unspentAtBlock: bigint | null; seenBlock: bigint }

/** `replaced`: the claiming key is deleted or expired. `same-user`: both keys of the user are valid. */
export type KeyRelation = 'same' | 'replaced' | 'same-user' | 'unrelated'

export type SettlementStore = ReturnType<typeof createSettlementStore>

const columns = `id, network, payer, status, client_id AS "clientId", request_hash AS "requestHash",
  idempotency_key AS "idempotencyKey", request_id AS "requestId", transaction_hash AS "transactionHash",
  block_number AS "blockNumber", error_reason AS "errorReason", error_detail AS "errorDetail", settled_at AS "settledAt",
  ended_at AS "endedAt", success_reported_at AS "successReportedAt"`

const samePayment = 'network = $1 AND asset = $2 AND payer = $3 AND nonce = $4'
const paymentKeyOf = ({ network, terms, payment }: PaymentRequest) => [
  network.name,
  terms.token.asset,
  payment.payer,
  payment.nonce,
]

const notifyClaimed = `pg_notify('${CLAIMED_CHANNEL}', network)`

const INSERT_CLAIM = `
WITH claimed AS (
  INSERT INTO settlements (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, idempotency_key, payload,
    request_id, min_block, seen_block, unspent_at_block)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 WHERE clock_timestamp() <= $15
  ON CONFLICT (network, asset, payer, nonce) DO NOTHING
  RETURNING *)
SELECT ${columns}, ${notifyClaimed} FROM claimed`

/**
 * Locks a failed settlement until the transaction ends, and waits for a resolution or a reversal that changes it. Skips a
 * settlement that did not fail: a signing round may lock it for long.
 */
const LOCK_FAILED = `
SELECT id, transaction_hash IS NOT NULL AS "wasSent", error_reason AS "errorReason"
FROM settlements WHERE ${samePayment} AND status = 'failed' FOR UPDATE`

/** Requires the lock on the settlement: a resolution stores the allocations under it. */
const FIND_MINED_PAYER_TRANSACTION = `
SELECT FROM fee_allocations a JOIN transactions t ON t.id = a.transaction_id
WHERE a.settlement_id = $1 AND t.nonce IS NULL LIMIT 1`

/** Not in the last seconds of the window: a replica that stalls before its commit rolls back by the end of the window. */
const RECLAIM = `
UPDATE settlements
SET pay_to = $2, amount = $3, client_id = $4, request_hash = $5, idempotency_key = $6, payload = $7, request_id = $8,
  min_block = greatest(min_block, $9),
  seen_block = CASE WHEN $14 THEN seen_block ELSE $10 END,
  unspent_at_block = CASE WHEN $14 THEN unspent_at_block ELSE $11 END,
  settled_at = CASE WHEN $14 THEN settled_at END,
  transaction_hash = CASE WHEN $13 = 'unused' THEN NULL ELSE transaction_hash END,
  status = 'claimed', error_reason = NULL, error_detail = NULL, transaction_id = NULL,
  created_at = now(), updated_at = now()
WHERE id = $1 AND status = 'failed' AND clock_timestamp() <= $12::timestamptz - INTERVAL '${STALL_LIMIT_SECONDS} seconds'
RETURNING ${columns}, ${notifyClaimed}`

/** The first report assigns the settlement to its requester. */
const REPORT_SUCCESS = `
UPDATE settlements
SET idempotency_key = CASE WHEN success_reported_at IS NULL THEN $2 ELSE idempotency_key END,
  client_id = CASE WHEN success_reported_at IS NULL THEN $3 ELSE client_id END,
  success_reported_at = coalesce(success_reported_at, now()), updated_at = now()
WHERE id = $1 AND status = 'settled' AND (success_reported_at IS NULL OR idempotency_key = $2)`

/** The settlements as clients see them; the settler uses the claim store. */
export function createSettlementStore(pool: Pool) {
  async function one(
    text: string,
    values: unknown[],
    session: Session = pool,
  ): Promise<Settlement | undefined> {
    const { rows } = await session.query<Settlement>(text, values)
    return rows[0]
  }

  const reclaim = (paymentKey: string[], claimed: unknown[], { basis, isSamePayment }: ClaimEvidence) =>
    inShortTransaction(pool, async (session) => {
      const failed = await lockFailed(session, paymentKey)
      if (!failed || !(await allowsReclaim(session, failed, basis))) return undefined
      return one(RECLAIM, [failed.id, ...claimed, basis, isSamePayment], session)
    })

  return {
    async clock(): Promise<Date> {
      const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
      if (!rows[0]) throw new Error('Postgres returned no time')
      return rows[0].now
    },

    find: (request: PaymentRequest) =>
      one(`SELECT ${columns} FROM settlements WHERE ${samePayment}`, paymentKeyOf(request)),

    /**
     * Claims the payment for exactly one of any number of callers, on any replica. The others get undefined, as does a claim
     * after `until`.
     *
     * A new payment takes one statement. A failed one is reclaimed in a short transaction, so that no resolution changes what
     * the claim depends on.
     */
    async claim(
      request: PaymentRequest,
      requester: Requester,
      newClaim: NewClaim,
    ): Promise<Settlement | undefined> {
      const paymentKey = paymentKeyOf(request)
      const claimed = valuesOf(request, requester, newClaim)
      return (
        (await one(INSERT_CLAIM, [...paymentKey, ...claimed])) ??
        (await reclaim(paymentKey, claimed, newClaim))
      )
    },

    /** The payload of the latest claim, with the blocks of the first claim of the same payment. */
    async findEarlierClaim(id: bigint): Promise<EarlierClaim | undefined> {
      const { rows } = await pool.query<EarlierClaim & { payload: string }>(
        `SELECT payload, unspent_at_block AS "unspentAtBlock", seen_block AS "seenBlock" FROM settlements WHERE id = $1`,
        [id],
      )
      return rows[0] && { ...rows[0], payload: JSON.parse(rows[0].payload) as unknown }
    },

    async keyRelation(clientId: string, claimingClientId: string): Promise<KeyRelation> {
      if (clientId === claimingClientId) return 'same'
      const { rows } = await pool.query<{ isInvalid: boolean }>(
        `SELECT claiming.deleted_at IS NOT NULL OR coalesce(claiming.expires_at <= now(), false) AS "isInvalid"
         FROM clients JOIN clients claiming USING (user_id) WHERE clients.client_id = $1 AND claiming.client_id = $2`,
        [clientId, claimingClientId],
      )
      const [claimingKey] = rows
      if (!claimingKey) return 'unrelated'
      return claimingKey.isInvalid ? 'replaced' : 'same-user'
    },

    async findCompleted(ids: readonly bigint[]): Promise<Settlement[]> {
      const { rows } = await pool.query<Settlement>(
        `SELECT ${columns} FROM settlements WHERE id = ANY($1) AND NOT ${isOpenSql('settlements')}`,
        [ids],
      )
      return rows
    },

    findById: (id: bigint) => one(`SELECT ${columns} FROM settlements WHERE id = $1`, [id]),

    /**
     * Assigns success to the first requester, and later confirms it only to its Idempotency-Key. Atomic: without a key,
     * exactly one caller gets true.
     */
    async reportSuccess(
      id: bigint,
      { clientId, idempotencyKey }: Pick<Requester, 'clientId' | 'idempotencyKey'>,
    ): Promise<boolean> {
      const { rowCount } = await pool.query(REPORT_SUCCESS, [id, idempotencyKey, clientId])
      return rowCount === 1
    },
  }
}

const valuesOf = (
  { terms, payload }: PaymentRequest,
  { clientId, requestHash, idempotencyKey }: Requester,
  { requestId, minBlock, seenBlock, unspentAtBlock, until }: NewClaim,
) => [
  terms.payTo,
  terms.amount.toString(),
  clientId,
  requestHash,
  idempotencyKey,
  JSON.stringify(payload),
  requestId,
  minBlock,
  seenBlock,
  unspentAtBlock,
  until,
]

async function lockFailed(session: Session, paymentKey: string[]): Promise<FailedClaim | undefined> {
  return (await session.query<FailedClaim>(LOCK_FAILED, paymentKey)).rows[0]
}

/** A mined payer's transaction used the nonce, even if a stale node does not show it. */
async function hasMinedPayerTransaction(session: Session, id: bigint): Promise<boolean> {
  return (await session.query(FIND_MINED_PAYER_TRANSACTION, [id])).rowCount === 1
}

type FailedClaim = { id: bigint; wasSent: boolean; errorReason: ReasonCode | null }

/** A failed claim can be reclaimed if nothing was broadcast, if the payment is paid, or if the payer's transaction is unused. */
async function allowsReclaim(session: Session, failed: FailedClaim, basis: ClaimBasis): Promise<boolean> {
  if (isMismatched(failed)) return false
  if (!failed.wasSent || basis === 'paid') return true
  return basis === 'unused' && !(await hasMinedPayerTransaction(session, failed.id))
}
