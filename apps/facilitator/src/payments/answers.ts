import { type Refusal } from '@tollgate/chains'
import { type ReasonCode, type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { type Settlement } from './store'

/** The answers of `/verify` and `/settle`. All of their texts are ours, and ASCII: they end up in HTTP headers. */
const unixSeconds = (date: Date) => Math.floor(date.getTime() / 1000)

export const valid = (payer: string, { at, cached }: { at: Date; cached: boolean }): VerifyResult => ({
  isValid: true,
  invalidReason: '',
  payer,
  timestamp: unixSeconds(at),
  cachedResult: cached,
})

export const invalid = ({ reason }: Refusal, at: Date): VerifyResult => ({
  isValid: false,
  invalidReason: reason,
  payer: '',
  timestamp: unixSeconds(at),
  cachedResult: false,
})

export const success = (settlement: Settlement, at: Date): SettleResult => ({
  success: true,
  transaction: settlement.transactionHash ?? '',
  errorReason: '',
  network: settlement.network,
  payer: settlement.payer,
  blockNumber: Number(settlement.blockNumber ?? 0n),
  timestamp: (settlement.settledAt ?? at).toISOString(),
})

/** `network` is empty where the request names none of ours. */
export const failure = (reason: ReasonCode, network: string, at: Date): SettleResult => ({
  success: false,
  transaction: '',
  errorReason: reason,
  network,
  payer: '',
  blockNumber: 0,
  timestamp: at.toISOString(),
})

/** Not known in time: the transaction, where it is signed, and the request may be sent again to learn the outcome. */
export const pending = ({ network, transactionHash }: Settlement, at: Date): SettleResult => ({
  ...failure('settlement_pending', network, at),
  transaction: transactionHash ?? '',
})
