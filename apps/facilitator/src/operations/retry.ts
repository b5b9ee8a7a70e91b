import { type Retry } from './settlements'
import { columns } from './words'

/** A line for each settlement that was asked for: what is done now, or why nothing is. */
export const retryText = (retries: readonly Retry[]) =>
  columns(retries.map((retry) => [retry.id.toString(), retry.state ?? '-', outcomeOf(retry)]))

function outcomeOf({ isRetried, isPayersOwn, state, errorReason }: Retry): string {
  if (state === undefined) return 'refused: there is no settlement with this id'
  if (state === 'settled') return 'refused: it is paid; there is nothing to do'
  if (state === 'failed')
    return `refused: it failed (${errorReason ?? 'unknown'}) and is never sent again; the payer may sign a new payment`
  if (state === 'reversed' && errorReason !== null)
    return `refused: it is reversed for good (${errorReason}); nobody can settle it any more`
  if (isPayersOwn)
    return 'refused: its payer signed the transaction whole, which is sent again by itself and never with other fees'
  if (!isRetried) return 'refused: it came to its end this very moment; show it'
  return state === 'claimed'
    ? 'retried: it is looked at now, and sent if it would go through'
    : 'retried: its transaction is given higher fees now, where they may help and the cap allows them'
}
