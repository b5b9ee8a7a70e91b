import { isApiError, messageOf } from '../api/api-error'
import { shared } from '../texts'

/** What the services say for programs, and what it means to a reader of the pages. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/invalid (guid|uuid)/i, shared.failed.malformedId],
  [/nonce.*(unknown|used|expired)/i, shared.failed.usedText],
  [/^from: must not be later than to/i, shared.failed.datesReversed],
]

/** Why something failed, for its reader. */
export function sentenceOf(error: unknown): string {
  const message = messageOf(error)
  return ownSentence(error) ?? message
}

/** Undefined if the message is the service's own. */
export function ownSentence(error: unknown): string | undefined {
  if (!isApiError(error) || error.status < 400 || error.status >= 500) return undefined
  return sentences.find(([pattern]) => pattern.test(error.message))?.[1]
}
