import { type SettlementStatus } from '../status'

export type MinedSettlement = {
  status: SettlementStatus
  transactionId: bigint | null
  transactionHash: string | null
  errorReason: string | null
}

export type ReorgEffect = 'reverse' | 'reopen' | 'none'

/**
 * What a dropped transaction means for one of its settlements. One that was claimed again since, or settled by another
 * transaction, keeps its state.
 */
export function reorgEffect(
  { status, transactionId, transactionHash, errorReason }: MinedSettlement,
  dropped: { id: bigint; hash: string },
): ReorgEffect {
  const isOurs = transactionId === dropped.id
  if (status === 'settled') return isOurs && transactionHash === dropped.hash ? 'reverse' : 'none'
  return errorReason !== null && (isOurs || transactionId === null) ? 'reopen' : 'none'
}
