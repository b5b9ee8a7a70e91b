/** Finds secrets in the bytes of a text, read as `latin1`. `maxLength`: of a secret as it may be written. */
export type SecretPattern = { pattern: RegExp; maxLength: number }

const LETTER_OR_DIGIT = /[a-z0-9]/i

const ENTITIES: Partial<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
}
/** The length of `%25252f`; `&#x2F;` is shorter, and longer escapes do not come from a server. */
const MAX_ESCAPED_LENGTH = 7

/**
 * Letters and digits stand as they are. Another character may be escaped as in a URL, up to three times over, in JSON or in HTML.
 * The longest of several secrets that begin alike must come first.
 */
export function createSecretPattern(secrets: readonly string[]): SecretPattern {
  const source = secrets.map((secret) => Array.from(secret, charPattern).join('')).join('|')
  const lengths = secrets.map((secret) =>
    Array.from(secret).reduce(
      (length, char) => length + (LETTER_OR_DIGIT.test(char) ? 1 : MAX_ESCAPED_LENGTH),
      0,
    ),
  )
  return { pattern: new RegExp(source, 'g'), maxLength: Math.max(...lengths) }
}

function charPattern(char: string): string {
  if (LETTER_OR_DIGIT.test(char)) return char
  const code = char.charCodeAt(0)
  const hex = anyCase(code.toString(16).padStart(2, '0'))
  const entity = ENTITIES[char]
  const forms = [
    `\\x${code.toString(16).padStart(2, '0')}`,
    `%(?:25){0,2}${hex}`,
    `\\\\{1,2}u00${hex}`,
    `&#[xX]${hex};`,
    `&#${code};`,
    ...(/["'/\\]/.test(char) ? [`\\\\{1,3}\\x${code.toString(16)}`] : []),
    ...(entity === undefined ? [] : [`&${entity};`]),
    ...(char === ' ' ? ['\\+'] : []),
  ]
  return `(?:${forms.join('|')})`
}

const anyCase = (hex: string) => hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
