import { type BlockId } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { CLAIMED_CHANNEL, FINAL_CHANNEL } from '../channels'
import { type ClaimOutcome, type Mismatch } from '../claims/claim'
import { outcomeStatus, settledAt, storedDetail } from '../claims/claim-store'
import { suspendAssets } from '../claims/suspend-assets'
import { type Session } from '../session'
import { inShortTransaction } from '../short-transaction'
import { isInFlightSql } from '../status'
import { divideFee, type FeeAllocation } from './divide-fee'

/** A settlement's next state once its transaction is mined or superseded; `claimed`: signed again. */
export type Transition = { id: bigint } & (ClaimOutcome | { status: 'claimed' })

/** How a transaction is closed: this version is mined, or another transaction used its nonce. */
export type Resolution =
  | { status: 'mined'; hash: string; block: BlockId; fee: bigint }
  | { status: 'superseded' }

export type ReadTransaction = { id: bigint; transaction: { hash: string }; wasSubmitted: boolean }

const MARK_MINED = `
UPDATE transactions
SET status = 'mined', hash = $2, block_number = $3, block_hash = $4, fee = $5,
  raw = coalesce((SELECT v.raw FROM transaction_versions v WHERE v.hash = $2), raw)
WHERE id = $1 AND status = 'signed'`

/** Locks the transaction's row. Changes nothing if it was replaced or submitted since it was read. */
const MARK_SUPERSEDED = `
UPDATE transactions SET status = 'superseded', block_number = NULL, block_hash = NULL, fee = NULL
WHERE id = $1 AND status = 'signed' AND hash = $2 AND (submitted_at IS NOT NULL) = $3`

/** Requires the lock on the transaction's row: every statement that locks settlements locks them in this order. */
const LOCK_SETTLEMENTS = 'SELECT id FROM settlements WHERE transaction_id = $1 ORDER BY id FOR UPDATE'

const STORE_FEE_ALLOCATIONS = `
INSERT INTO fee_allocations (transaction_id, settlement_id, fee)
SELECT $1, settlement_id, fee FROM unnest($2::bigint[], $3::numeric[]) AS allocation (settlement_id, fee)
ON CONFLICT (transaction_id, settlement_id) DO UPDATE SET fee = EXCLUDED.fee`

const ADD_FEES = `
UPDATE settlements s SET fee = s.fee + allocation.fee
FROM unnest($1::bigint[], $2::numeric[]) AS allocation (settlement_id, fee)
WHERE s.id = allocation.settlement_id AND allocation.fee > 0`

/** Notifies waiting requests of an outcome, and the settler of a claim to sign again. */
const APPLY_TRANSITIONS = `
UPDATE settlements s
SET status = ${outcomeStatus('next.status')},
  transaction_hash = CASE WHEN NOT next.is_unsent THEN coalesce(next.hash, s.transaction_hash) END,
  transaction_id = CASE WHEN next.status = 'claimed' THEN NULL ELSE s.transaction_id END,
  block_number = next.block_number, transfer = next.transfer, arrived = s.arrived OR next.arrived,
  min_block = greatest(s.min_block, $2),
  error_reason = next.reason, error_detail = next.detail, settled_at = ${settledAt('next.status')},
  attempts = s.attempts + CASE WHEN next.status = 'settled' THEN 0 ELSE 1 END,
  last_error = NULL, retry_requested_at = NULL, updated_at = now()
FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::boolean[], $10::text[],
  $11::boolean[]) AS next (id, status, hash, block_number, reason, detail, is_unsent, transfer, arrived)
WHERE s.id = next.id AND s.transaction_id = $1 AND ${isInFlightSql('s')}
RETURNING s.id, s.error_reason AS reason, CASE WHEN s.status = 'claimed' THEN pg_notify('${CLAIMED_CHANNEL}', s.network)
  ELSE pg_notify('${FINAL_CHANNEL}', s.id::text) END`

/**
 * Stores how a transaction is closed, its fee and the outcomes of its settlements, all or nothing. Idempotent: returns false if
 * already resolved. A transaction that was replaced, or submitted to a node, since it was read is not superseded.
 */
export const storeResolution = (
  pool: Pool,
  {
    open,
    resolution,
    transitions,
  }: { open: ReadTransaction; resolution: Resolution; transitions: readonly Transition[] },
): Promise<boolean> =>
  inShortTransaction(pool, async (session) => {
    if (!(await closeTransaction(session, open, resolution))) return false
    const settlementIds = await lockSettlements(session, open.id)
    const isMined = resolution.status === 'mined'
    if (isMined) await storeFees(session, open.id, divideFee(resolution.fee, settlementIds))
    const minBlock = isMined ? resolution.block.number : null
    const mismatched = await applyTransitions(session, { transactionId: open.id, minBlock, transitions })
    if (mismatched.length > 0) await suspendAssets(session, mismatched)
    return true
  })

async function closeTransaction(
  session: Session,
  { id, transaction, wasSubmitted }: ReadTransaction,
  resolution: Resolution,
): Promise<boolean> {
  const { rowCount } =
    resolution.status === 'mined'
      ? await session.query(MARK_MINED, [
          id,
          resolution.hash,
          resolution.block.number,
          resolution.block.hash,
          resolution.fee,
        ])
      : await session.query(MARK_SUPERSEDED, [id, transaction.hash, wasSubmitted])
  return rowCount === 1
}

/** Until the database transaction ends. The transaction's row must be locked before. */
export async function lockSettlements(session: Session, transactionId: bigint): Promise<bigint[]> {
  const { rows } = await session.query<{ id: bigint }>(LOCK_SETTLEMENTS, [transactionId])
  return rows.map(({ id }) => id)
}

async function storeFees(
  session: Session,
  transactionId: bigint,
  allocations: readonly FeeAllocation[],
): Promise<void> {
  const settlementIds = allocations.map(({ settlementId }) => settlementId)
  const fees = allocations.map(({ fee }) => fee)
  await session.query(STORE_FEE_ALLOCATIONS, [transactionId, settlementIds, fees])
  await session.query(ADD_FEES, [settlementIds, fees])
}

/** Returns the settlements that it failed by a mismatch. Skips those that are not in flight with this transaction any more. */
async function applyTransitions(
  session: Session,
  {
    transactionId,
    minBlock,
    transitions,
  }: { transactionId: bigint; minBlock: bigint | null; transitions: readonly Transition[] },
): Promise<bigint[]> {
  const next = transitions.map(rowOf)
  const { rows } = await session.query<{ id: bigint; reason: string | null }>(APPLY_TRANSITIONS, [
    transactionId,
    minBlock,
    next.map(({ id }) => id),
    next.map(({ status }) => status),
    next.map(({ hash }) => hash),
    next.map(({ blockNumber }) => blockNumber),
    next.map(({ reason }) => reason),
    next.map(({ detail }) => detail),
    next.map(({ isUnsent }) => isUnsent),
    next.map(({ place }) => place),
    next.map(({ arrived }) => arrived),
  ])
  return rows.filter(({ reason }) => reason === 'transfer_event_mismatch').map(({ id }) => id)
}

function rowOf(transition: Transition) {
  const transfer = transferOf(transition)
  const failure = transition.status === 'failed' ? transition : undefined
  return {
    id: transition.id,
    status: transition.status,
    hash: transfer?.hash ?? null,
    blockNumber: transfer?.blockNumber ?? null,
    reason: failure?.reason ?? null,
    detail: failure ? storedDetail(failure.detail) : null,
    isUnsent: failure?.isUnsent === true,
    place: (transition.status === 'settled' && transition.place) || null,
    arrived: transition.status === 'settled' && transition.arrived === true,
  }
}

function transferOf(transition: Transition): Mismatch | undefined {
  if (transition.status === 'settled') return transition
  return transition.status === 'failed' ? transition.mismatch : undefined
}
