import { type Refusal } from '@tollgate/chains'
import { type ReasonCode, type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { type Settlement } from './store'

/** Response texts are ASCII: clients copy them into HTTP headers. */
const MAX_DETAIL = 200
const URLS = /[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]*/gi

/**
 * Sanitizes a detail that a token or node may have written: short printable ASCII without URLs, which may contain a node's API
 * key. Hides the details of internal errors, which reveal signers and budgets.
 */
export function publicDetail({
  reason,
  detail,
}: {
  reason: string
  detail: string | null
}): string | undefined {
  if (reason === 'fee_allowance_exceeded')
    return 'the client key has used up the network fees that it may cause in 24 hours'
  if (detail === null || reason === 'unexpected_settle_error' || reason === 'unexpected_verify_error')
    return undefined
  const text = detail
    .slice(0, 10 * MAX_DETAIL)
    .replace(URLS, '(URL)')
    .replace(/\s+/g, ' ')
    .replace(/’/g, "'")
    .replace(/[^\x20-\x7e]/g, '?')
    .trim()
  return text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 3)}...` : text || undefined
}

const unixSeconds = (date: Date) => Math.floor(date.getTime() / 1000)

export const valid = (payer: string, { at, cached }: { at: Date; cached: boolean }): VerifyResult => ({
  isValid: true,
  invalidReason: '',
  payer,
  timestamp: unixSeconds(at),
  cachedResult: cached,
})

export function invalid(refusal: Refusal, at: Date): VerifyResult {
  const invalidMessage = publicDetail(refusal)
  return {
    isValid: false,
    invalidReason: refusal.reason,
    ...(invalidMessage === undefined ? {} : { invalidMessage }),
    payer: '',
    timestamp: unixSeconds(at),
    cachedResult: false,
  }
}

export const success = (settlement: Settlement, at: Date): SettleResult => ({
  success: true,
  transaction: settlement.transactionHash ?? '',
  errorReason: '',
  network: settlement.network,
  payer: settlement.payer,
  blockNumber: Number(settlement.blockNumber ?? 0n),
  timestamp: (settlement.settledAt ?? at).toISOString(),
  ...(settlement.arrived ? { arrived: true } : {}),
})

type Failure = { reason: ReasonCode; detail: string | null }

/** `network` is empty if the request names an unknown one. */
export function failure(failed: Failure, network: string, at: Date): SettleResult {
  const errorMessage = publicDetail(failed)
  return {
    success: false,
    transaction: '',
    errorReason: failed.reason,
    ...(errorMessage === undefined ? {} : { errorMessage }),
    network,
    payer: '',
    blockNumber: 0,
    timestamp: at.toISOString(),
  }
}

/** Names the transaction that moved another amount than the payer signed. */
export const mismatched = (
  { network, transactionHash, errorDetail: detail }: Settlement,
  at: Date,
): SettleResult => ({
  ...failure({ reason: 'transfer_event_mismatch', detail }, network, at),
  transaction: transactionHash ?? '',
})

/** `transaction` is empty if none is signed yet. */
export const pending = ({ network, transactionHash }: Settlement, at: Date): SettleResult => ({
  ...failure({ reason: 'settlement_pending', detail: null }, network, at),
  transaction: transactionHash ?? '',
})
