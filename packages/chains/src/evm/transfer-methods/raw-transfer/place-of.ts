import type { Terms } from '../../../family'
import type { Receipt } from '../../rpc-schemas'
import { eventsOf, isTransferFrom, isTransferOf, placeOfTransfer } from '../../tokens/erc20'
import type { RawTransfer } from './payment'

/** The place (see `Transfer`). Only the payer's own transaction counts, so that it settles no other payment. */
export function placeOf(
  { transactionHash, logs }: Receipt,
  payment: RawTransfer,
  { token: { asset } }: Terms,
): string | undefined {
  if (transactionHash !== payment.transaction.hash) return undefined
  const transfer = eventsOf(logs, asset).find((log) => isTransferOf(log, payment))
  return placeOfTransfer(logs, asset, payment, transfer)
}

/** For the payer's own transaction that does not settle the payment. */
export const movesOther = (
  { transactionHash, logs }: Receipt,
  payment: RawTransfer,
  { token }: Terms,
): boolean =>
  transactionHash === payment.transaction.hash &&
  eventsOf(logs, token.asset).some((log) => isTransferFrom(log, payment))
