import { type Pool } from '@tollgate/database'
import { isOpen, type OpenState } from './open'

export type Filter = {
  network?: string | undefined
  state?: OpenState | undefined
  /** Claimed at least so long ago. */
  olderThanSeconds: number
  limit: number
}

/** One line of the list. Times are of the database's clock, amounts in smallest units. */
export type Open = {
  id: bigint
  network: string
  state: OpenState
  ageSeconds: number
  payer: string
  amount: string
  symbol: string
  decimals: number
  /** Null where nothing is signed for it at present, and the nonce where the payer signed the transaction. */
  signer: string | null
  nonce: bigint | null
  transactionHash: string | null
  attempts: number
  problem: string | null
}

export type Version = { hash: string; createdAt: Date }

/** What may be known of one settlement, but for what its payer signed. */
export type Shown = Omit<Open, 'state' | 'signer' | 'nonce'> & {
  state: OpenState | 'settled' | 'failed'
  asset: string
  payTo: string
  /** Of the payer's authorization. */
  paymentNonce: string
  client: { id: string; title: string; isDeleted: boolean }
  blockNumber: bigint | null
  fee: string
  errorReason: string | null
  retryAt: Date | null
  createdAt: Date
  updatedAt: Date
  settledAt: Date | null
  handedOutAt: Date | null
  transaction: SentTransaction | null
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

/** What became of the wish to have one tried again; `state` is undefined where there is no such settlement. */
export type Retry = {
  id: bigint
  isRetried: boolean
  /** The payer signed its transaction whole: nobody else can have it offer more. */
  isPayersOwn: boolean
  state: Shown['state'] | undefined
  errorReason: string | null
}

const LIST = `
SELECT s.id, s.network, s.status AS state, extract(epoch FROM now() - s.created_at)::float8 AS "ageSeconds", s.payer,
  s.amount, a.symbol, a.decimals, t.signer, t.nonce, s.transaction_hash AS "transactionHash", s.attempts, s.problem,
  count(*) OVER () AS total
FROM settlements s JOIN assets a USING (network, asset) LEFT JOIN transactions t ON t.id = s.transaction_id
WHERE ${isOpen('s')} AND ($1::text IS NULL OR s.network = $1) AND ($2::text IS NULL OR s.status = $2)
  AND s.created_at <= now() - make_interval(secs => $3)
ORDER BY s.created_at, s.id LIMIT $4`

const SHOW = `
SELECT s.id, s.network, s.status AS state, extract(epoch FROM now() - s.created_at)::float8 AS "ageSeconds", s.payer,
  s.amount, a.symbol, a.decimals, s.transaction_hash AS "transactionHash", s.attempts, s.problem, s.asset,
  s.pay_to AS "payTo", s.nonce AS "paymentNonce", s.block_number AS "blockNumber", s.fee, s.error_reason AS "errorReason",
  s.retry_at AS "retryAt", s.created_at AS "createdAt", s.updated_at AS "updatedAt", s.settled_at AS "settledAt",
  s.handed_out_at AS "handedOutAt", s.transaction_id AS "transactionId", c.client_id AS "clientId", c.title,
  c.deleted_at IS NOT NULL AS "isDeleted"
FROM settlements s JOIN assets a USING (network, asset) JOIN clients c USING (client_id)
WHERE s.id = $1`

const TRANSACTION = `
SELECT t.id, t.signer, t.nonce, t.status AS state, t.hash, t.signed_at AS "signedAt", t.broadcast_at AS "broadcastAt",
  t.block_number AS "blockNumber", t.fee, t.created_at AS "createdAt",
  (SELECT count(*)::int FROM settlements WHERE transaction_id = t.id) AS payments
FROM transactions t WHERE t.id = $1`

const VERSIONS = `
SELECT hash, created_at AS "createdAt" FROM transaction_versions WHERE transaction_id = $1 ORDER BY created_at, hash`

const isPayersOwn = `EXISTS (SELECT FROM transactions t WHERE t.id = s.transaction_id AND t.nonce IS NULL)`

/** Locked in the order of their ids, as the settlers lock them. */
const RETRY = `
WITH open AS MATERIALIZED (
  SELECT id FROM settlements s WHERE id = ANY ($1::bigint[]) AND ${isOpen('s')} AND NOT ${isPayersOwn}
  ORDER BY id FOR UPDATE
), retried AS (
  UPDATE settlements SET retry_at = now() FROM open WHERE settlements.id = open.id
  RETURNING settlements.id, pg_notify($2, network)
)
SELECT asked.id, retried.id IS NOT NULL AS "isRetried", ${isPayersOwn} AS "isPayersOwn", s.status AS state, s.error_reason AS "errorReason"
FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (id, place)
  LEFT JOIN retried USING (id) LEFT JOIN settlements s USING (id)
ORDER BY place`

export type OperatorStore = ReturnType<typeof createOperatorStore>

/** Settlements as operators see them, and the one thing that they may do: have those that are open tried again. */
export function createOperatorStore(pool: Pool, claimedChannel: string) {
  return {
    /** The open ones, oldest first, and how many there are in all. */
    async open({
      network,
      state,
      olderThanSeconds,
      limit,
    }: Filter): Promise<{ found: Open[]; total: number }> {
      const values = [network ?? null, state ?? null, olderThanSeconds, limit]
      const { rows } = await pool.query<Open & { total: bigint }>(LIST, values)
      const found = rows.map(({ total, ...open }) => ({ total, open }))
      return { found: found.map(({ open }) => open), total: Number(found[0]?.total ?? 0n) }
    },

    async one(id: bigint): Promise<Shown | undefined> {
      type Row = Omit<Shown, 'client' | 'transaction'> & {
        transactionId: bigint | null
        clientId: string
        title: string
        isDeleted: boolean
      }
      const { rows } = await pool.query<Row>(SHOW, [id])
      const [row] = rows
      if (!row) return undefined
      const { transactionId, clientId, title, isDeleted, ...settlement } = row
      const transaction = transactionId === null ? null : await transactionOf(transactionId)
      return { ...settlement, client: { id: clientId, title, isDeleted }, transaction }
    },

    /** All at once, in one statement. What is over stays as it is. */
    async retry(ids: readonly bigint[]): Promise<Retry[]> {
      const { rows } = await pool.query<Retry & { state: Retry['state'] | null }>(RETRY, [
        ids,
        claimedChannel,
      ])
      return rows.map((row) => ({ ...row, state: row.state ?? undefined }))
    },
  }

  async function transactionOf(id: bigint): Promise<SentTransaction | null> {
    const { rows } = await pool.query<Omit<SentTransaction, 'versions'>>(TRANSACTION, [id])
    const [transaction] = rows
    if (!transaction) return null
    const versions = await pool.query<Version>(VERSIONS, [id])
    return { ...transaction, versions: versions.rows }
  }
}
