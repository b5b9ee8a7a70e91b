import { type RetryCode } from '@tollgate/protocol'
import { isOver } from '../../settlement/status'
import { type Retry } from './operator-settlement-store'

/** What a retry did, as a code and as a clause for people. `signer` is how the clause names the signer's key. */
export function retryOutcome(
  { isRetried, isPayersOwn, state, errorReason }: Retry,
  signer: string,
): { code: RetryCode | 'not-found'; text: string } {
  const reason = errorReason ?? 'unknown'
  if (state === undefined) return { code: 'not-found', text: 'there is no such settlement' }
  if (state === 'settled') return { code: 'settled', text: 'it is settled' }
  if (state === 'failed')
    return {
      code: 'failed',
      text: `it failed (${reason}) and is never sent again; the payer may sign a new payment`,
    }
  if (isOver({ status: state, errorReason }))
    return {
      code: 'reversed-final',
      text: `it is reversed for good (${reason}); it cannot be settled any more`,
    }
  if (isPayersOwn)
    return {
      code: 'payer-transaction',
      text: 'the payer signed the transaction, so its fees cannot change; it is resent as it is',
    }
  if (!isRetried) return { code: 'completed-meanwhile', text: 'it completed just now; show it' }
  if (state === 'claimed')
    return { code: 'retried', text: 'it is validated now, and sent if it would succeed' }
  return {
    code: 'retried',
    text: `its fees are raised now if that helps and the fee limits allow it; if the key of ${signer} is no longer configured, the transaction is resent as it is`,
  }
}
