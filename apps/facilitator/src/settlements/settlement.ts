import { type Settlement } from '@tollgate/protocol'
import { publicDetail } from '../payments/responses'
import { type SettlementStatus } from '../settlement/status'

/** As stored. Amount and fee in decimal digits. */
export type SettlementRow = {
  id: bigint
  network: string
  asset: string
  symbol: string
  decimals: number
  amount: string
  payer: string
  nonce: string
  recipient: string
  resource: string | null
  paymentIdentifier: string | null
  clientId: string
  status: SettlementStatus
  errorReason: string | null
  errorDetail: string | null
  transactionHash: string | null
  blockNumber: bigint | null
  fee: string
  claimedAt: Date
  updatedAt: Date
  settledAt: Date | null
  endedAt: Date | null
  successReportedAt: Date | null
  /** When it was claimed after an earlier claim had failed. */
  reclaimedAt: Date | null
}

const stateOf = (status: SettlementStatus): Settlement['state'] =>
  status === 'claimed' || status === 'signed' ? 'pending' : status

/** Null while the settler works on it. The last change of one that is reversed for good is its end. */
export function endOf({ status, errorReason, endedAt, updatedAt }: SettlementRow): Date | null {
  if (status !== 'reversed') return endedAt
  return errorReason === null ? null : updatedAt
}

export const toSettlement = (row: SettlementRow): Required<Settlement> => ({
  id: row.id.toString(),
  network: row.network,
  asset: row.asset,
  symbol: row.symbol,
  decimals: row.decimals,
  amount: row.amount,
  payer: row.payer,
  recipient: row.recipient,
  resource: row.resource,
  paymentIdentifier: row.paymentIdentifier,
  clientId: row.clientId,
  state: stateOf(row.status),
  reason: row.errorReason,
  detail:
    row.errorReason === null
      ? null
      : (publicDetail({ reason: row.errorReason, detail: row.errorDetail }) ?? null),
  transaction: row.transactionHash,
  block: row.blockNumber === null ? null : Number(row.blockNumber),
  fee: row.fee,
  createdAt: row.claimedAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  settledAt: row.settledAt?.toISOString() ?? null,
  endedAt: endOf(row)?.toISOString() ?? null,
  nonce: row.nonce,
})
