import { MAX_OUTPUT } from './tools/inputs'

const MAX_TEXT = 500

/** Items of others as one answer may have them: texts are shortened, and as many items are kept as fit. */
export function boundList<T>(items: readonly T[], maxCharacters = MAX_OUTPUT): { items: T[]; note?: string } {
  const kept: T[] = []
  let size = 0
  const shortenedTexts = new Set<string>()
  const shorten = (text: string) => {
    if (text.length <= MAX_TEXT) return text
    const beginning = `${text.slice(0, MAX_TEXT)}…`
    shortenedTexts.add(beginning)
    return beginning
  }
  for (const item of items) {
    const text = JSON.stringify(item, (_, member: unknown) => shortened(member, shorten))
    size += text.length + 1
    if (size > maxCharacters) break
    kept.push(JSON.parse(text) as T)
  }
  const notes = [
    ...(kept.length < items.length ? [`Only the first ${kept.length} of ${items.length} are here.`] : []),
    ...(shortenedTexts.size > 0 ? [`Texts of more than ${MAX_TEXT} characters are shortened.`] : []),
  ]
  return { items: kept, ...(notes.length > 0 ? { note: notes.join(' ') } : {}) }
}

function shortened(member: unknown, shorten: (text: string) => string): unknown {
  if (typeof member === 'string') return shorten(member)
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
  return Object.fromEntries(Object.entries(member).map(([name, value]) => [shorten(name), value as unknown]))
}
