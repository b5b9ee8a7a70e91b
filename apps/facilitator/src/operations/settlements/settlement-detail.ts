import { type Pool } from '@tollgate/database'
import { type SettlementStatus } from '../../settlement/status'

/** Without the payer's signature. Times by the database's clock. */
export type SettlementDetail = {
  id: bigint
  network: string
  state: SettlementStatus
  ageSeconds: number
  payer: string
  payTo: string
  asset: string
  /** Smallest units. */
  amount: string
  symbol: string
  decimals: number
  paymentNonce: string
  client: { id: string; title: string; isDeleted: boolean }
  transactionHash: string | null
  blockNumber: bigint | null
  /** Broadcasts that failed. */
  attempts: number
  lastError: string | null
  errorReason: string | null
  retryRequestedAt: Date | null
  createdAt: Date
  updatedAt: Date
  settledAt: Date | null
  successReportedAt: Date | null
  /** Its share of all fees so far, in the native smallest unit. */
  fee: string
  feeAllocations: FeeAllocation[]
  transaction: SentTransaction | null
}

/** A mined transaction that contained the settlement. */
export type FeeAllocation = {
  hash: string
  blockNumber: bigint | null
  /** Of the whole transaction; `share` is the settlement's. In the native smallest unit. */
  fee: string | null
  share: string
  /** False if another transaction, or none, settled it. */
  settledIt: boolean
}

export type SentTransaction = {
  id: bigint
  signer: string
  /** Null if the payer signed the transaction. */
  nonce: bigint | null
  state: 'signed' | 'mined' | 'final' | 'superseded'
  hash: string
  signedAt: Date
  acceptedAt: Date | null
  blockNumber: bigint | null
  fee: string | null
  createdAt: Date
  /** The number of settlements in it. */
  payments: number
  /** Oldest first. */
  versions: Version[]
}

/** `fee` is null unless the version is mined. */
export type Version = { hash: string; createdAt: Date; fee: string | null }

const SETTLEMENT = `
SELECT s.id, s.network, s.status AS state, extract(epoch FROM now() - s.created_at)::float8 AS "ageSeconds", s.payer,
  s.amount, a.symbol, a.decimals, s.transaction_hash AS "transactionHash", s.attempts, s.last_error AS "lastError", s.asset,
  s.pay_to AS "payTo", s.nonce AS "paymentNonce", s.block_number AS "blockNumber", s.fee, s.error_reason AS "errorReason",
  s.retry_requested_at AS "retryRequestedAt", s.created_at AS "createdAt", s.updated_at AS "updatedAt", s.settled_at AS "settledAt",
  s.success_reported_at AS "successReportedAt", s.transaction_id AS "transactionId", c.client_id AS "clientId", c.title,
  c.deleted_at IS NOT NULL AS "isDeleted"
FROM settlements s JOIN assets a USING (network, asset) JOIN clients c USING (client_id)
WHERE s.id = $1`

const CHARGES = `
SELECT t.hash, t.block_number AS "blockNumber", t.fee, c.fee AS SHARE,
  s.status = 'settled' AND s.transaction_hash IS NOT DISTINCT FROM t.hash AS "settledIt"
FROM fee_allocations c JOIN transactions t ON t.id = c.transaction_id JOIN settlements s ON s.id = c.settlement_id
WHERE c.settlement_id = $1 ORDER BY t.block_number, t.id`

const TRANSACTION = `
SELECT t.id, t.signer, t.nonce, t.status AS state, t.hash, t.signed_at AS "signedAt", t.accepted_at AS "acceptedAt",
  t.block_number AS "blockNumber", t.fee, t.created_at AS "createdAt",
  (SELECT count(*)::int FROM settlements WHERE transaction_id = t.id) AS payments
FROM transactions t WHERE t.id = $1`

/** A mined transaction has the hash of the version that was mined. */
const VERSIONS = `
SELECT v.hash, v.created_at AS "createdAt", CASE WHEN v.hash = t.hash THEN t.fee END AS fee
FROM transaction_versions v JOIN transactions t ON t.id = v.transaction_id
WHERE v.transaction_id = $1 ORDER BY v.created_at, v.hash`

export async function readSettlementDetail(pool: Pool, id: bigint): Promise<SettlementDetail | undefined> {
  type Row = Omit<SettlementDetail, 'client' | 'charges' | 'transaction'> & {
    transactionId: bigint | null
    clientId: string
    title: string
    isDeleted: boolean
  }
  const { rows } = await pool.query<Row>(SETTLEMENT, [id])
  const [row] = rows
  if (!row) return undefined
  const { transactionId, clientId, title, isDeleted, ...settlement } = row
  const feeAllocations = await pool.query<FeeAllocation>(CHARGES, [id])
  const transaction = transactionId === null ? null : await readTransaction(pool, transactionId)
  return {
    ...settlement,
    client: { id: clientId, title, isDeleted },
    feeAllocations: feeAllocations.rows,
    transaction,
  }
}

async function readTransaction(pool: Pool, id: bigint): Promise<SentTransaction | null> {
  const { rows } = await pool.query<Omit<SentTransaction, 'versions'>>(TRANSACTION, [id])
  const [transaction] = rows
  if (!transaction) return null
  const versions = await pool.query<Version>(VERSIONS, [id])
  return { ...transaction, versions: versions.rows }
}
