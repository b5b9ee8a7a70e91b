import { isOver } from '../../settlement/status'
import { type Retry } from './operator-settlement-store'
import { columns, shortened } from './format'

export const retryText = (retries: readonly Retry[]) =>
  columns(retries.map((retry) => [retry.id.toString(), retry.state ?? '-', outcomeOf(retry)]))

function outcomeOf({ isRetried, isPayersOwn, state, signer, errorReason }: Retry): string {
  if (state === undefined) return 'refused: there is no such settlement'
  if (state === 'settled') return 'refused: it is settled'
  if (state === 'failed')
    return `refused: it failed (${errorReason ?? 'unknown'}) and is never sent again; the payer may sign a new payment`
  if (isOver({ status: state, errorReason }))
    return `refused: it is reversed for good (${errorReason ?? 'unknown'}); it cannot be settled any more`
  if (isPayersOwn)
    return 'refused: the payer signed the transaction, so its fees cannot change; it is resent as it is'
  if (!isRetried) return 'refused: it completed just now; show it'
  if (state === 'claimed') return 'retried: it is validated now, and sent if it would succeed'
  const key = signer === null ? 'its signer' : shortened(signer)
  return `retried: its fees are raised now if that helps and the fee limits allow it; if the key of ${key} is no longer configured, the transaction is resent as it is`
}
