import { type Refusal } from '@tollgate/chains'
import { type ReasonCode, type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { type Settlement } from './store'

/** The answers of `/verify` and `/settle`. All of their texts are ASCII: they end up in HTTP headers. */
const MAX_DETAIL = 200
const URLS = /[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]*/gi

/**
 * What is passed on of a refusal's detail, which may hold a token's or a node's own words: short, printable ASCII, and no URL, which
 * may be a node's and hold a key. Nothing of refusals that are ours alone, which tell of our signers and budgets.
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
})

type Failure = { reason: ReasonCode; detail: string | null }

/** `network` is empty where the request names none of ours. */
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

/** Money was moved, and not as it was signed: the transaction that did it. */
export const mismatched = (
  { network, transactionHash, errorDetail: detail }: Settlement,
  at: Date,
): SettleResult => ({
  ...failure({ reason: 'transfer_event_mismatch', detail }, network, at),
  transaction: transactionHash ?? '',
})

/** Not known in time: the transaction, where it is signed, and the request may be sent again to learn the outcome. */
export const pending = ({ network, transactionHash }: Settlement, at: Date): SettleResult => ({
  ...failure({ reason: 'settlement_pending', detail: null }, network, at),
  transaction: transactionHash ?? '',
})
