import { type Settlement } from '@tollgate/protocol'

export type SettlementState = Settlement['state']

export const settlementStates = [
  'pending',
  'settled',
  'failed',
  'reversed',
] as const satisfies readonly SettlementState[]
