import { randomBytes } from 'node:crypto'
import { type Pool } from '@tollgate/database'
import { USDC_ADDRESS } from '@tollgate/devnet'

const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`

type Row = {
  network?: string
  clientId?: string
  payer?: string
  recipient?: string
  resource?: string
  paymentIdentifier?: string
  amount?: string
  status?: 'claimed' | 'signed' | 'settled' | 'failed' | 'reversed'
  ageSeconds?: number
  attempts?: number
  lastError?: string
  transactionId?: bigint
  transactionHash?: string
  errorReason?: string
  fee?: string
  endedAt?: string
  isReported?: boolean
}

type TransactionRow = {
  network?: string
  signer?: string
  nonce?: bigint | null
  status?: 'signed' | 'mined' | 'final' | 'superseded'
  isBroadcast?: boolean
  isFeeGrant?: boolean
  fee?: string
  /** Hashes, oldest first. */
  versions?: readonly string[]
}

export function settlementRows(pool: Pool) {
  const network = 'base-sepolia'

  return {
    async user(email: string): Promise<number> {
      const { rows } = await pool.query<{ id: number }>(
        `INSERT INTO users (email, password_hash) VALUES ($1, '') RETURNING id`,
        [email],
      )
      return rows[0]!.id
    },

    async client(userId: number, title = 'Shop'): Promise<string> {
      const id = randomBytes(8).toString('hex')
      await pool.query(
        'INSERT INTO clients (client_id, user_id, token_hash, title) VALUES ($1, $2, $3, $4)',
        [id, userId, randomBytes(32), title],
      )
      return id
    },

    async asset(on = network) {
      await pool.query(
        `INSERT INTO assets (network, asset, symbol, decimals) VALUES ($1, $2, 'USDC', 6) ON CONFLICT DO NOTHING`,
        [on, USDC_ADDRESS],
      )
    },

    async transaction(row: TransactionRow = {}): Promise<bigint> {
      const {
        signer = hex(20),
        nonce = 0n,
        status = 'signed',
        isBroadcast = true,
        versions = [hex(32)],
      } = row
      const isMined = status === 'mined' || status === 'final'
      const { rows } = await pool.query<{ id: bigint }>(
        `INSERT INTO transactions (network, signer, nonce, raw, hash, status, accepted_at, block_number, block_hash, fee, is_fee_grant)
         VALUES ($1, $2, $3, 'raw', $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
        [
          row.network ?? network,
          signer,
          nonce,
          versions.at(-1),
          status,
          isBroadcast ? new Date() : null,
          isMined ? 17 : null,
          isMined ? hex(32) : null,
          isMined ? (row.fee ?? '100') : null,
          row.isFeeGrant ?? false,
        ],
      )
      const { id } = rows[0]!
      for (const [at, hash] of versions.entries())
        await pool.query(
          `INSERT INTO transaction_versions (hash, transaction_id, raw, created_at)
           VALUES ($1, $2, 'raw', now() - make_interval(secs => $3))`,
          [hash, id, versions.length - at],
        )
      return id
    },

    async charge(transactionId: bigint, settlementId: bigint, fee: string) {
      await pool.query(
        'INSERT INTO fee_allocations (transaction_id, settlement_id, fee) VALUES ($1, $2, $3)',
        [transactionId, settlementId, fee],
      )
    },

    async settlement(clientId: string, row: Row = {}): Promise<bigint> {
      const { status = 'claimed', ageSeconds = 0, amount = '10000', transactionHash } = row
      const isSettled = status === 'settled' || status === 'reversed'
      const { rows } = await pool.query<{ id: bigint }>(
        `INSERT INTO settlements (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, payload, status,
           attempts, last_error, transaction_id, transaction_hash, block_number, error_reason, fee, settled_at, success_reported_at,
           created_at, updated_at, resource, payment_identifier)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '{}', $9, $10, $11, $12::bigint,
           coalesce($13, (SELECT hash FROM transactions WHERE id = $12::bigint)), $14, $15, $16, $17, $18,
           now() - make_interval(secs => $19), coalesce($20::timestamptz, now()), $21, $22) RETURNING id`,
        [
          row.network ?? network,
          USDC_ADDRESS,
          row.payer ?? hex(20),
          hex(32),
          row.recipient ?? hex(20),
          amount,
          clientId,
          randomBytes(32),
          status,
          row.attempts ?? 0,
          row.lastError ?? null,
          row.transactionId ?? null,
          transactionHash ?? (isSettled && row.transactionId === undefined ? hex(32) : null),
          isSettled ? 17 : null,
          row.errorReason ?? null,
          row.fee ?? '0',
          isSettled ? (row.endedAt ?? new Date()) : null,
          row.isReported ? new Date() : null,
          ageSeconds,
          row.endedAt ?? null,
          row.resource ?? null,
          row.paymentIdentifier ?? null,
        ],
      )
      return rows[0]!.id
    },
  }
}
