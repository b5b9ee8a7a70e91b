import type { Terms } from '../../family'
import type { Receipt } from '../answers'
import { eventsOf, isTransferOf } from '../erc20'
import type { RawTransfer } from './payment'

/** Whether the transaction is the payer's own, so that no other payment is settled by it, and the asset names the transfer. */
export const settles = (
  { transactionHash, logs }: Receipt,
  payment: RawTransfer,
  { token }: Terms,
): boolean =>
  transactionHash === payment.transaction.hash &&
  eventsOf(logs, token.asset).some((log) => isTransferOf(log, payment))
