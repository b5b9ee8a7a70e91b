import { type Pool } from '@tollgate/database'
import { type State } from '../payments/state'

/** What may be known of one settlement, but for what its payer signed. Times are of the database's clock. */
export type Shown = {
  id: bigint
  network: string
  state: State
  ageSeconds: number
  payer: string
  payTo: string
  asset: string
  /** Smallest units. */
  amount: string
  symbol: string
  decimals: number
  /** Of the payer's authorization. */
  paymentNonce: string
  client: { id: string; title: string; isDeleted: boolean }
  transactionHash: string | null
  blockNumber: bigint | null
  /** Transactions that were sent for it and came to nothing. */
  attempts: number
  problem: string | null
  errorReason: string | null
  retryAt: Date | null
  createdAt: Date
  updatedAt: Date
  settledAt: Date | null
  handedOutAt: Date | null
  /** Its share of all that was mined for it, in the native smallest unit. */
  fee: string
  charges: Charge[]
  transaction: SentTransaction | null
}

/** A transaction that was mined with the settlement in it, and what the settlement bears of its fee. */
export type Charge = {
  hash: string
  blockNumber: bigint | null
  /** Of the whole transaction, in the native smallest unit, as is its `share`. */
  fee: string | null
  share: string
  /** False where it was mined in vain. */
  settledIt: boolean
}

export type SentTransaction = {
  id: bigint
  signer: string
  /** Null of a payer's own. */
  nonce: bigint | null
  state: 'signed' | 'mined' | 'final' | 'lost'
  hash: string
  signedAt: Date
  broadcastAt: Date | null
  blockNumber: bigint | null
  fee: string | null
  createdAt: Date
  /** How many settlements it carries. */
  payments: number
  /** Oldest first. */
  versions: Version[]
}

/** `fee`: what was paid for it; null of one that is not mined, which costs nothing. */
export type Version = { hash: string; createdAt: Date; fee: string | null }

const SETTLEMENT = `
SELECT s.id, s.network, s.status AS state, extract(epoch FROM now() - s.created_at)::float8 AS "ageSeconds", s.payer,
  s.amount, a.symbol, a.decimals, s.transaction_hash AS "transactionHash", s.attempts, s.problem, s.asset,
  s.pay_to AS "payTo", s.nonce AS "paymentNonce", s.block_number AS "blockNumber", s.fee, s.error_reason AS "errorReason",
  s.retry_at AS "retryAt", s.created_at AS "createdAt", s.updated_at AS "updatedAt", s.settled_at AS "settledAt",
  s.handed_out_at AS "handedOutAt", s.transaction_id AS "transactionId", c.client_id AS "clientId", c.title,
  c.deleted_at IS NOT NULL AS "isDeleted"
FROM settlements s JOIN assets a USING (network, asset) JOIN clients c USING (client_id)
WHERE s.id = $1`

const CHARGES = `
SELECT t.hash, t.block_number AS "blockNumber", t.fee, c.fee AS share,
  s.status = 'settled' AND s.transaction_hash IS NOT DISTINCT FROM t.hash AS "settledIt"
FROM charges c JOIN transactions t ON t.id = c.transaction_id JOIN settlements s ON s.id = c.settlement_id
WHERE c.settlement_id = $1 ORDER BY t.block_number, t.id`

const TRANSACTION = `
SELECT t.id, t.signer, t.nonce, t.status AS state, t.hash, t.signed_at AS "signedAt", t.broadcast_at AS "broadcastAt",
  t.block_number AS "blockNumber", t.fee, t.created_at AS "createdAt",
  (SELECT count(*)::int FROM settlements WHERE transaction_id = t.id) AS payments
FROM transactions t WHERE t.id = $1`

/** The hash of a transaction that is mined is that of its version that was. */
const VERSIONS = `
SELECT v.hash, v.created_at AS "createdAt", CASE WHEN v.hash = t.hash THEN t.fee END AS fee
FROM transaction_versions v JOIN transactions t ON t.id = v.transaction_id
WHERE v.transaction_id = $1 ORDER BY v.created_at, v.hash`

/** All of one settlement; undefined where there is none with this id. */
export async function readShown(pool: Pool, id: bigint): Promise<Shown | undefined> {
  type Row = Omit<Shown, 'client' | 'charges' | 'transaction'> & {
    transactionId: bigint | null
    clientId: string
    title: string
    isDeleted: boolean
  }
  const { rows } = await pool.query<Row>(SETTLEMENT, [id])
  const [row] = rows
  if (!row) return undefined
  const { transactionId, clientId, title, isDeleted, ...settlement } = row
  const charges = await pool.query<Charge>(CHARGES, [id])
  const transaction = transactionId === null ? null : await readTransaction(pool, transactionId)
  return {
    ...settlement,
    client: { id: clientId, title, isDeleted },
    charges: charges.rows,
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
