import { messageOf } from '../../api/api-error'
import { buyer } from '../../texts'
import { codeOf } from './purchase'

const advice: Partial<Record<string, string>> = buyer.purchase.advice

/** Of errors whose message is for programmers. */
const OWN_WORDS: ReadonlySet<unknown> = new Set(['STORAGE_FAILED', 'ABORTED', 'CLOSED', 'PURCHASE_UNDER_WAY'])

/** Why a purchase or a call failed, and what to do: the package's own advice is for programmers. */
export function failureTexts(error: unknown): string[] {
  const code = codeOf(error)
  const own = (typeof code === 'string' && advice[code]) || ''
  return [OWN_WORDS.has(code) ? '' : messageOf(error), own].filter((text) => text !== '')
}
