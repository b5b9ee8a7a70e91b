import { isOver } from '../payments/state'
import { type Retry } from './settlements'
import { columns, shortened } from './words'

/** A line for each settlement that was asked for: what is done now, or why nothing is. */
export const retryText = (retries: readonly Retry[]) =>
  columns(retries.map((retry) => [retry.id.toString(), retry.state ?? '-', outcomeOf(retry)]))

function outcomeOf({ isRetried, isPayersOwn, state, signer, errorReason }: Retry): string {
  if (state === undefined) return 'refused: there is no settlement with this id'
  if (state === 'settled') return 'refused: it is paid; there is nothing to do'
  if (state === 'failed')
    return `refused: it failed (${errorReason ?? 'unknown'}) and is never sent again; the payer may sign a new payment`
  if (isOver({ status: state, errorReason }))
    return `refused: it is reversed for good (${errorReason ?? 'unknown'}); nobody can settle it any more`
  if (isPayersOwn)
    return 'refused: its payer signed the transaction whole, which is sent again by itself and never with other fees'
  if (!isRetried) return 'refused: it came to its end this very moment; show it'
  if (state === 'claimed') return 'retried: it is looked at now, and sent if it would go through'
  const key = signer === null ? 'its signer' : shortened(signer)
  return `retried: its transaction is given higher fees now, where they may help and the cap allows them; if the key of ${key} was taken out, it goes on as it is, and nobody can raise its fees until the key is back`
}
