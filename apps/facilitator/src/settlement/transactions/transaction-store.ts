import { type BlockId, type OwnTransaction, type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import {
  SUSPEND_MISMATCHED,
  claimColumns,
  outcomeStatus,
  settledAt,
  storedDetail,
  toClaim,
  type ClaimRow,
  type Session,
} from '../claims/claim-store'
import { type Claim, type ClaimOutcome, type Mismatch } from '../claims/claim'
import { isInFlightSql } from '../status'
import { CLAIMED_CHANNEL, FINAL_CHANNEL } from '../channels'

/** A transaction that is signed and not mined as far as we know, and the settlements that wait for it. */
export type OpenTransaction = {
  id: bigint
  signer: string
  /** Null of a payer's own. */
  nonce: bigint | null
  /** The newest version. */
  transaction: SignedTransaction
  /** Of all versions, the newest first: any of them may be mined. */
  hashes: string[]
  /** Whether a node may have it, or had it once. */
  wasSubmitted: boolean
  /** Whether it was signed a minute ago or more: nodes do not lag so far. */
  isOld: boolean
  settlements: Claim[]
}

/** Transactions of a signer and, with `knownSigners`, of all signers that are no longer configured. */
export type SignerScope = { network: string; signer: string; knownSigners?: readonly string[] | undefined }

export const inScope = `t.network = $1 AND (t.signer = $2 OR t.signer <> ALL($3::text[]))`
export const valuesOf = ({ network, signer, knownSigners }: SignerScope) => [
  network,
  signer,
  knownSigners ?? null,
]

/** What becomes of a settlement once its transaction is mined or lost: over, or to be sent again. */
export type Transition = { id: bigint } & (ClaimOutcome | { status: 'claimed' })

/** How a transaction got out of the way: mined as this version, or its nonce went to another. */
export type Resolution =
  { status: 'mined'; hash: string; block: BlockId; fee: bigint } | { status: 'superseded' }

export type TransactionStore = ReturnType<typeof createTransactionStore>

type OpenRow = Omit<OpenTransaction, 'transaction' | 'settlements'> & SignedTransaction

const isOnItsWay = isInFlightSql('s')

/** Transactions of a day that one asset may make us pay for, with no fault of their payers. */
const MAX_ASSET_FAULTS = 3

/** What moved the money, or something else. */
function transferIn(one: Transition): Mismatch | null {
  if (one.status === 'settled') return one
  return (one.status === 'failed' && one.mismatch) || null
}

/** Transactions as they are followed, from when they are signed until they are mined; see reorg-store for what comes then. */
export function createTransactionStore(pool: Pool) {
  async function open(text: string, values: unknown[], session: Session = pool): Promise<OpenTransaction[]> {
    const { rows } = await session.query<OpenRow>(
      `SELECT t.id, t.signer, t.nonce, t.raw, t.hash, t.submitted_at IS NOT NULL AS "wasSubmitted",
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
       WHERE s.transaction_id = ANY($1) AND ${isOnItsWay} ORDER BY s.id`,
      [rows.map(({ id }) => id)],
    )
    return rows.map(({ raw, hash, hashes, ...row }) => ({
      ...row,
      // What a replica of an older version signed has no versions.
      hashes: hashes.length > 0 ? hashes : [hash],
      transaction: { raw, hash },
      settlements: settlements.rows.filter(({ transactionId }) => transactionId === row.id).map(toClaim),
    }))
  }

  return {
    /** Up to `limit` open transactions of this lane, those after the row `after` in the order in which they were signed. */
    unmined: (scope: SignerScope, { after, limit }: { after: bigint; limit: number }) =>
      open(`WHERE ${inScope} AND t.status = 'signed' AND t.id > $4 ORDER BY t.id LIMIT $5`, [
        ...valuesOf(scope),
        after,
        limit,
      ]),

    /**
     * Our open transactions of this signer whose newest version has waited for `seconds`, in the order of their nonces; also
     * those that an operator wants tried again. `isOverdue`: the first of all, and for `overdueSeconds`.
     */
    async waiting(
      session: Session,
      network: string,
      signer: string,
      { seconds, overdueSeconds }: { seconds: number; overdueSeconds: number },
    ): Promise<(OpenTransaction & { isOverdue: boolean })[]> {
      const { rows } = await session.query<{ id: bigint; isOverdue: boolean }>(
        `SELECT id, is_retried OR (place = 1 AND signed_at < now() - make_interval(secs => $4)) AS "isOverdue"
         FROM (
           SELECT id, nonce, signed_at, row_number() OVER (ORDER BY nonce) AS place,
             EXISTS (SELECT FROM settlements s WHERE s.transaction_id = t.id AND s.retry_at IS NOT NULL) AS is_retried
           FROM transactions t WHERE network = $1 AND signer = $2 AND status = 'signed' AND nonce IS NOT NULL
         ) AS ours
         WHERE is_retried OR signed_at < now() - make_interval(secs => $3) ORDER BY nonce`,
        [network, signer, seconds, overdueSeconds],
      )
      if (rows.length === 0) return []
      const overdue = new Set(rows.filter(({ isOverdue }) => isOverdue).map(({ id }) => id))
      const found = await open('WHERE t.id = ANY($1) ORDER BY t.nonce', [rows.map(({ id }) => id)], session)
      return found.map((one) => ({ ...one, isOverdue: overdue.has(one.id) }))
    },

    /** Stores a version with higher fees before it is sent. */
    async storeVersion(session: Session, id: bigint, { raw, hash, cost }: OwnTransaction): Promise<void> {
      await session.query(
        `WITH version AS (
           INSERT INTO transaction_versions (hash, transaction_id, raw) VALUES ($2, $1, $3)
         ), newest AS (
           UPDATE transactions SET raw = $3, hash = $2, max_fee = $4, signed_at = now(), accepted_at = NULL
           WHERE id = $1 AND status = 'signed'
         )
         UPDATE settlements s SET transaction_hash = CASE WHEN s.transaction_hash IS NOT NULL THEN $2 END, retry_at = NULL, updated_at = now()
         WHERE s.transaction_id = $1 AND ${isOnItsWay}`,
        [id, hash, raw, cost],
      )
    },

    /**
     * Stores in one statement how a transaction ended, its fee and the outcome of its settlements, suspends the asset of a mismatch,
     * and notifies waiting requests. Idempotent: returns false if already resolved. A transaction that was replaced, or accepted by
     * a node, since it was read is not superseded.
     */
    async resolveTransaction(
      { id, transaction, wasSubmitted }: Pick<OpenTransaction, 'id' | 'transaction' | 'wasSubmitted'>,
      resolution: Resolution,
      transitions: readonly Transition[],
    ): Promise<boolean> {
      const mined = resolution.status === 'mined' ? resolution : undefined
      const of = <T>(read: (transfer: Mismatch) => T) =>
        transitions.map(transferIn).map((one) => one && read(one))
      const { rowCount } = await pool.query(
        `WITH cleared AS (
           UPDATE transactions t
           SET status = $2, hash = coalesce($3, hash), block_number = $4, block_hash = $5, fee = $6,
             raw = coalesce((SELECT v.raw FROM transaction_versions v WHERE v.hash = $3), raw)
           WHERE id = $1 AND status = 'signed'
             AND ($2 <> 'superseded' OR (hash = $12 AND (submitted_at IS NOT NULL) = $13)) RETURNING id
         ), shares AS (
           SELECT id, div($6::numeric, n) + CASE WHEN place <= mod($6::numeric, n) THEN 1 ELSE 0 END AS SHARE
           FROM (SELECT id, row_number() OVER (ORDER BY id) AS place, count(*) OVER () AS n
                 FROM settlements WHERE transaction_id = $1) AS part
         ), charged AS (
           INSERT INTO fee_allocations (transaction_id, settlement_id, fee)
           SELECT $1, id, SHARE FROM shares WHERE $2 = 'mined' AND EXISTS (SELECT FROM cleared)
           ON CONFLICT (transaction_id, settlement_id) DO UPDATE SET fee = EXCLUDED.fee
         ), transitions AS (
           SELECT * FROM unnest($7::bigint[], $8::text[], $9::text[], $10::bigint[], $11::text[], $14::text[], $15::boolean[])
             AS e (id, status, hash, block_number, reason, detail, is_unsent)
         ), ended AS (
           UPDATE settlements s
           SET status = ${outcomeStatus('e.status')}, transaction_hash = CASE WHEN NOT e.is_unsent THEN coalesce(e.hash, s.transaction_hash) END,
             block_number = e.block_number, error_reason = e.reason, error_detail = e.detail, settled_at = ${settledAt('e.status')},
             min_block = greatest(s.min_block, $4),
             attempts = s.attempts + CASE WHEN e.status = 'settled' THEN 0 ELSE 1 END,
             transaction_id = CASE WHEN e.status = 'claimed' THEN NULL ELSE s.transaction_id END,
             fee = s.fee + coalesce(SHARE, 0), last_error = NULL, retry_at = NULL, updated_at = now()
           FROM transitions e JOIN shares USING (id)
           WHERE s.id = e.id AND ${isOnItsWay} AND EXISTS (SELECT FROM cleared)
           RETURNING s.id, s.status, s.network, s.asset, s.error_reason, s.transaction_hash
         ), suspended AS (${SUSPEND_MISMATCHED}
         ), others AS (
           UPDATE settlements s SET fee = s.fee + SHARE FROM shares
           WHERE shares.id = s.id AND SHARE > 0 AND s.id NOT IN (SELECT id FROM transitions) AND EXISTS (SELECT FROM cleared)
         ), told AS (
           SELECT CASE WHEN status = 'claimed' THEN pg_notify('${CLAIMED_CHANNEL}', network)
             ELSE pg_notify('${FINAL_CHANNEL}', id::text) END FROM ended
         )
         SELECT id, (SELECT count(*) FROM told) FROM cleared`,
        [
          id,
          resolution.status,
          mined?.hash,
          mined?.block.number,
          mined?.block.hash,
          mined?.fee,
          transitions.map((one) => one.id),
          transitions.map(({ status }) => status),
          of(({ hash }) => hash),
          of(({ blockNumber }) => blockNumber),
          transitions.map((one) => (one.status === 'failed' ? one.reason : null)),
          transaction.hash,
          wasSubmitted,
          transitions.map((one) => (one.status === 'failed' ? storedDetail(one.detail) : null)),
          transitions.map((one) => one.status === 'failed' && one.isUnsent === true),
        ],
      )
      return rowCount === 1
    },

    /**
     * Writes down that the asset failed this transaction, once, though it succeeds in simulations. Three of a day suspend the asset:
     * answers true then.
     */
    async noteAssetFault(
      id: bigint,
      { network, asset }: { network: string; asset: string },
    ): Promise<boolean> {
      await pool.query(
        `INSERT INTO asset_faults (transaction_id, network, asset) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
        [id, network, asset],
      )
      // A statement of its own: it must count what it wrote itself.
      const { rowCount } = await pool.query(
        `UPDATE assets SET active = false, suspended_at = now(),
           suspension = 'its transfers succeed in simulations and fail in blocks, last in settlement transaction ' || $4::text
         WHERE network = $1 AND asset = $2 AND suspended_at IS NULL AND $3 <= (
           SELECT count(*) FROM asset_faults f WHERE f.network = $1 AND f.asset = $2
             AND f.created_at > now() - INTERVAL '1 day')`,
        [network, asset, MAX_ASSET_FAULTS, id],
      )
      return rowCount === 1
    },

    /**
     * Ends one settlement whose transaction is still on its way, where nothing can come of it any more. False where it is not
     * that transaction's any more: its payment may have been claimed again, with another one that can be mined.
     */
    async fail(
      { id: transactionId }: Pick<OpenTransaction, 'id'>,
      id: bigint,
      { reason, detail }: Refusal,
    ): Promise<boolean> {
      const { rowCount } = await pool.query(
        `UPDATE settlements s
         SET status = ${outcomeStatus("'failed'")}, error_reason = $2, error_detail = $3, last_error = NULL, retry_at = NULL, updated_at = now()
         WHERE id = $1 AND transaction_id = $4 AND ${isOnItsWay} RETURNING pg_notify('${FINAL_CHANNEL}', id::text)`,
        [id, reason, storedDetail(detail), transactionId],
      )
      return rowCount === 1
    },
  }
}
