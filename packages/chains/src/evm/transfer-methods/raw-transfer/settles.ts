import type { Terms } from '../../../family'
import type { Receipt } from '../../rpc-schemas'
import { eventsOf, isTransferFrom, isTransferOf } from '../../tokens/erc20'
import type { RawTransfer } from './payment'

/** Whether the transaction is the payer's own, so that no other payment is settled by it, and the asset names the transfer. */
export const settles = (
  { transactionHash, logs }: Receipt,
  payment: RawTransfer,
  { token }: Terms,
): boolean =>
  transactionHash === payment.transaction.hash &&
  eventsOf(logs, token.asset).some((log) => isTransferOf(log, payment))

/** Whether the payer's own transaction, which does not settle the payment, moved something else of its payer's. */
export const movesOther = (
  { transactionHash, logs }: Receipt,
  payment: RawTransfer,
  { token }: Terms,
): boolean =>
  transactionHash === payment.transaction.hash &&
  eventsOf(logs, token.asset).some((log) => isTransferFrom(log, payment))
