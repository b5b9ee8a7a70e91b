export const settlementStates = ['pending', 'settled', 'failed', 'reversed'] as const
export type SettlementState = (typeof settlementStates)[number]

export type Settlement = {
  id: string
  network: string
  asset: string
  symbol: string
  decimals: number
  amount: string
  payer: string
  recipient: string
  resource: string | null
  paymentIdentifier: string | null
  clientId: string
  state: SettlementState
  reason: string | null
  detail: string | null
  transaction: string | null
  block: number | null
  fee: string
  createdAt: string
  updatedAt: string
  settledAt: string | null
  endedAt: string | null
}

export type SettlementTransaction = {
  hash: string
  state: 'pending' | 'mined' | 'final' | 'replaced' | 'superseded'
  signer: string | null
  nonce: string | null
  signedAt: string | null
  acceptedAt: string | null
  block: number | null
  fee: string | null
}

export type SettlementDetails = Settlement & {
  confirmations: number | null
  requiredConfirmations: number | null
  transactions: SettlementTransaction[]
  timeline: { at: string; event: string }[]
}
