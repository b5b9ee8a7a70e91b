import { type SettlementStatus } from '../../settlement/status'

/** A settlement of a list. Times by the database's clock, amounts in smallest units. */
export type ListedSettlement = {
  id: bigint
  network: string
  state: SettlementStatus
  ageSeconds: number
  updatedAt: Date
  clientId: string
  payer: string
  amount: string
  symbol: string
  decimals: number
  /** Null if no transaction is signed; the nonce also if the payer signed it. */
  signer: string | null
  nonce: bigint | null
  transactionHash: string | null
  attempts: number
  lastError: string | null
  errorReason: string | null
}

/** Of LISTED_FROM, as members of ListedSettlement. */
export const LISTED_COLUMNS = `s.id, s.network, s.status AS state, extract(epoch FROM now() - s.created_at)::float8 AS "ageSeconds",
  s.updated_at AS "updatedAt", s.client_id AS "clientId", s.payer, s.amount, a.symbol, a.decimals, t.signer, t.nonce,
  s.transaction_hash AS "transactionHash", s.attempts, s.last_error AS "lastError", s.error_reason AS "errorReason"`

export const LISTED_FROM =
  'settlements s JOIN assets a USING (network, asset) LEFT JOIN transactions t ON t.id = s.transaction_id'
