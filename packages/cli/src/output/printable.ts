/** A text from elsewhere without control characters, which could rewrite the terminal. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '')

/** The same of several lines. */
export const printableLines = (text: string): string => text.replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, '')

/**
 * JSON in one line, or with an indent; bigints as digits. Characters that could rewrite a terminal are escaped, which JSON itself
 * does not ask for above U+001F.
 */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value === undefined ? null : value,
    (_, member: unknown) => (typeof member === 'bigint' ? member.toString() : member),
    indent,
  ).replaceAll(/[\u007F-\u009F\p{Cf}\u2028\u2029]/gu, (characters) =>
    Array.from({ length: characters.length }, (_, at) => escaped(characters.charCodeAt(at))).join(''),
  )

const escaped = (unit: number) => `\\u${unit.toString(16).padStart(4, '0')}`
