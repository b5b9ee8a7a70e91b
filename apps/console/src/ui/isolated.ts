/** Of a direction for what follows, up to the end of the paragraph. */
const DIRECTIONS = /[\u202A-\u202E\u2066-\u2069]/g
const RIGHT_TO_LEFT = /[\u0590-\u08FF\u200F\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

/** A stored text of somebody else, for a sentence whose words it must not reorder. */
export function isolated(text: string): string {
  const own = text.replaceAll(DIRECTIONS, '')
  return RIGHT_TO_LEFT.test(own) ? `\u2068${own}\u2069` : own
}
