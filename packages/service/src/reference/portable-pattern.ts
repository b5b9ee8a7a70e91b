const CONTROL_CHARACTERS = '\\x00-\\x1f\\x7f-\\x9f'

/**
 * The pattern without Unicode properties, which Python does not know, and with escaped brackets, which Rust needs: clients that are
 * generated from a document compile it. Undefined if there is no such pattern. It also accepts lone surrogates.
 */
export function portablePattern(pattern: string): string | undefined {
  const shared = pattern
    .replaceAll('\\p{Cc}', CONTROL_CHARACTERS)
    .replaceAll('\\p{Cs}', '')
    .replace(/\[(?:\\.|[^\]\\])*\]/g, escapeBrackets)
  return /\\[pP]\{|\[\^?\]/.test(shared) ? undefined : shared
}

/** A bracket within a class begins another class in Rust. */
const escapeBrackets = (characterClass: string): string =>
  `[${characterClass.slice(1).replace(/\\.|\[/g, (part) => (part === '[' ? '\\[' : part))}`
