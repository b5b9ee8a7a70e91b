import type { Terms } from '../../../family'
import type { Receipt } from '../../rpc-schemas'
import { eventsOf, isTransferFrom, isTransferOf } from '../../tokens/erc20'
import type { RawTransfer } from './payment'

/** Only the payer's own transaction counts, so that it settles no other payment. */
export const settles = (
  { transactionHash, logs }: Receipt,
  payment: RawTransfer,
  { token }: Terms,
): boolean =>
  transactionHash === payment.transaction.hash &&
  eventsOf(logs, token.asset).some((log) => isTransferOf(log, payment))

/** For the payer's own transaction that does not settle the payment. */
export const movesOther = (
  { transactionHash, logs }: Receipt,
  payment: RawTransfer,
  { token }: Terms,
): boolean =>
  transactionHash === payment.transaction.hash &&
  eventsOf(logs, token.asset).some((log) => isTransferFrom(log, payment))
