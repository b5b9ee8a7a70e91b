import { type OwnTransaction, type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type Pool, type PoolClient } from '@tollgate/database'
import { claimColumns, outcomeStatus, storedDetail, toClaim, type ClaimRow } from '../claims/claim-store'
import { type Claim } from '../claims/claim'
import { FINAL_CHANNEL } from '../channels'
import { type Session } from '../session'
import { inShortTransaction } from '../short-transaction'
import { isInFlightSql } from '../status'
import {
  lockSettlements,
  storeResolution,
  type ReadTransaction,
  type Resolution,
  type Transition,
} from './store-resolution'

/** A signed transaction that is not resolved, and its settlements in flight. */
export type OpenTransaction = {
  id: bigint
  signer: string
  /** Null if the payer signed it. */
  nonce: bigint | null
  transaction: SignedTransaction
  /** Of all versions, the newest first; any can be mined. */
  hashes: string[]
  wasSubmitted: boolean
  signedAt: Date
  /** Signed over a minute ago: nodes do not lag that far. */
  isOld: boolean
  settlements: Claim[]
}

export type PendingTransaction = OpenTransaction & { nonce: bigint }

/** Of a signer and, with `knownSigners`, of all signers that are no longer configured. */
export type SignerScope = { network: string; signer: string; knownSigners?: readonly string[] | undefined }

export const inScope = `t.network = $1 AND (t.signer = $2 OR t.signer <> ALL($3::text[]))`
export const valuesOf = ({ network, signer, knownSigners }: SignerScope) => [
  network,
  signer,
  knownSigners ?? null,
]

export type TransactionStore = ReturnType<typeof createTransactionStore>

type OpenRow = Omit<OpenTransaction, 'transaction' | 'settlements'> & SignedTransaction

const isInFlight = isInFlightSql('s')

/** Transactions in a day that one asset may waste. */
const MAX_ASSET_FAULTS = 3

/** Locks the transaction's row, which every statement does before it locks the settlements. */
const SET_NEWEST_VERSION = `
UPDATE transactions SET raw = $3, hash = $2, max_fee = $4, nonce = coalesce($5, nonce), signed_at = now(), accepted_at = NULL
WHERE id = $1 AND status = 'signed'`
/** The same bytes give the same hash: a superseded transaction of the same payment may have had this nonce. */
const FREE_HASH = `
WITH superseded AS (
  SELECT t.id FROM transactions t JOIN transaction_versions v ON v.transaction_id = t.id
  WHERE v.hash = $2 AND t.id <> $1 AND t.status = 'superseded'
), freed AS (
  UPDATE transaction_versions v SET hash = v.hash || ' of ' || v.transaction_id FROM superseded
  WHERE v.transaction_id = superseded.id AND v.hash = $2
)
UPDATE transactions t SET hash = t.hash || ' of ' || t.id FROM superseded WHERE t.id = superseded.id AND t.hash = $2`
const ADD_VERSION = `
INSERT INTO transaction_versions (transaction_id, hash, raw) VALUES ($1, $2, $3)
ON CONFLICT (hash) DO UPDATE SET created_at = now() WHERE transaction_versions.transaction_id = EXCLUDED.transaction_id`
const SET_SETTLEMENT_HASHES = `
UPDATE settlements s SET transaction_hash = CASE WHEN s.transaction_hash IS NOT NULL THEN $2 END, retry_requested_at = NULL, updated_at = now()
WHERE s.transaction_id = $1 AND ${isInFlight}`

const ADD_ASSET_FAULT = `
INSERT INTO asset_faults (transaction_id, network, asset) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
const LOCK_ASSET = 'SELECT FROM assets WHERE network = $1 AND asset = $2 FOR UPDATE'
const SUSPEND_FAULTY_ASSET = `
UPDATE assets SET active = false, suspended_at = now(),
  suspension = 'its transfers succeed in simulations and fail in blocks, last in settlement transaction ' || $4::text
WHERE network = $1 AND asset = $2 AND suspended_at IS NULL AND $3 <= (
  SELECT count(*) FROM asset_faults f WHERE f.network = $1 AND f.asset = $2 AND f.created_at > now() - INTERVAL '1 day')`

const FAIL_SETTLEMENT = `
UPDATE settlements s
SET status = ${outcomeStatus("'failed'")}, error_reason = $2, error_detail = $3, last_error = NULL, retry_requested_at = NULL, updated_at = now()
WHERE id = $1 AND transaction_id = $4 AND ${isInFlight} RETURNING pg_notify('${FINAL_CHANNEL}', id::text)`

/** Transactions from their signature until they are resolved; see reorg-store for mined ones. */
export function createTransactionStore(pool: Pool) {
  async function open(text: string, values: unknown[], session: Session = pool): Promise<OpenTransaction[]> {
    const { rows } = await session.query<OpenRow>(
      `SELECT t.id, t.signer, t.nonce, t.raw, t.hash, t.submitted_at IS NOT NULL AS "wasSubmitted", t.signed_at AS "signedAt",
         t.signed_at < now() - INTERVAL '1 minute' AS "isOld",
         ARRAY(SELECT v.hash FROM transaction_versions v WHERE v.transaction_id = t.id
               ORDER BY v.created_at DESC, v.hash) AS hashes
       FROM transactions t ${text}`,
      values,
    )
    if (rows.length === 0) return []
    const settlements = await session.query<ClaimRow & { transactionId: bigint }>(
      `SELECT ${claimColumns}, s.transaction_id AS "transactionId"
       FROM settlements s JOIN assets a ON a.network = s.network AND a.asset = s.asset
       WHERE s.transaction_id = ANY($1) AND ${isInFlight} ORDER BY s.id`,
      [rows.map(({ id }) => id)],
    )
    return rows.map(({ raw, hash, hashes, ...row }) => ({
      ...row,
      // Rows of older releases have no versions.
      hashes: hashes.length > 0 ? hashes : [hash],
      transaction: { raw, hash },
      settlements: settlements.rows.filter(({ transactionId }) => transactionId === row.id).map(toClaim),
    }))
  }

  return {
    /** Up to `limit` open transactions in the scope, in the order of their ids, from the first id above `after`. */
    unmined: (scope: SignerScope, { after, limit }: { after: bigint; limit: number }) =>
      open(`WHERE ${inScope} AND t.status = 'signed' AND t.id > $4 ORDER BY t.id LIMIT $5`, [
        ...valuesOf(scope),
        after,
        limit,
      ]),

    /**
     * Open transactions of this signer, by nonce, whose newest version is older than `seconds`, or with a retry by an operator.
     * `isOverdue`: a retry, or the lowest nonce with a version older than `overdueSeconds`.
     */
    async waiting(
      session: Session,
      network: string,
      signer: string,
      { seconds, overdueSeconds }: { seconds: number; overdueSeconds: number },
    ): Promise<(OpenTransaction & { isOverdue: boolean })[]> {
      const { rows } = await session.query<{ id: bigint; isOverdue: boolean }>(
        `SELECT id, is_retry_requested OR (place = 1 AND signed_at < now() - make_interval(secs => $4)) AS "isOverdue"
         FROM (
           SELECT id, nonce, signed_at, row_number() OVER (ORDER BY nonce) AS place,
             EXISTS (SELECT FROM settlements s WHERE s.transaction_id = t.id AND s.retry_requested_at IS NOT NULL) AS is_retry_requested
           FROM transactions t WHERE network = $1 AND signer = $2 AND status = 'signed' AND nonce IS NOT NULL
         ) AS ours
         WHERE is_retry_requested OR signed_at < now() - make_interval(secs => $3) ORDER BY nonce`,
        [network, signer, seconds, overdueSeconds],
      )
      if (rows.length === 0) return []
      const overdue = new Set(rows.filter(({ isOverdue }) => isOverdue).map(({ id }) => id))
      const found = await open('WHERE t.id = ANY($1) ORDER BY t.nonce', [rows.map(({ id }) => id)], session)
      return found.map((one) => ({ ...one, isOverdue: overdue.has(one.id) }))
    },

    /** Those of this signer that wait for a block, by nonce. */
    async pending(session: Session, network: string, signer: string): Promise<PendingTransaction[]> {
      const found = await open(
        `WHERE t.network = $1 AND t.signer = $2 AND t.status = 'signed' AND t.nonce IS NOT NULL ORDER BY t.nonce`,
        [network, signer],
        session,
      )
      return found.flatMap(({ nonce, ...one }) => (nonce === null ? [] : [{ ...one, nonce }]))
    },

    /**
     * Stores a version with higher fees, or under another nonce, before it is sent. Returns false, and stores nothing, if the
     * transaction is resolved.
     */
    async storeVersion(
      session: PoolClient,
      id: bigint,
      { raw, hash, cost }: OwnTransaction,
      nonce?: bigint,
    ): Promise<boolean> {
      await session.query(FREE_HASH, [id, hash])
      const { rowCount } = await session.query(SET_NEWEST_VERSION, [id, hash, raw, cost, nonce ?? null])
      if (rowCount === 0) return false
      await session.query(ADD_VERSION, [id, hash, raw])
      await lockSettlements(session, id)
      await session.query(SET_SETTLEMENT_HASHES, [id, hash])
      return true
    },

    resolveTransaction: (
      transaction: ReadTransaction,
      resolution: Resolution,
      transitions: readonly Transition[],
    ): Promise<boolean> => storeResolution(pool, { open: transaction, resolution, transitions }),

    /**
     * Records once that a mined transaction failed because of the asset, though it succeeds in simulations. Returns true if this
     * suspends the asset: the third fault within a day does.
     */
    noteAssetFault: (id: bigint, { network, asset }: { network: string; asset: string }): Promise<boolean> =>
      inShortTransaction(pool, async (session) => {
        await session.query(ADD_ASSET_FAULT, [id, network, asset])
        await session.query(LOCK_ASSET, [network, asset])
        // After the lock: it counts the faults of all replicas.
        const { rowCount } = await session.query(SUSPEND_FAULTY_ASSET, [network, asset, MAX_ASSET_FAULTS, id])
        return rowCount === 1
      }),

    /**
     * Fails one settlement in flight that its transaction can no longer settle. Returns false if the settlement has another
     * transaction by now: its payment may have been claimed again.
     */
    async fail(
      { id: transactionId }: Pick<OpenTransaction, 'id'>,
      id: bigint,
      { reason, detail }: Refusal,
    ): Promise<boolean> {
      const { rowCount } = await pool.query(FAIL_SETTLEMENT, [
        id,
        reason,
        storedDetail(detail),
        transactionId,
      ])
      return rowCount === 1
    },
  }
}
