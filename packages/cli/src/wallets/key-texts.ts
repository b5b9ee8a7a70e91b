import { UsageError } from '../exit-codes'

const LIKE_A_KEY = /(?:0x)?[0-9a-f]{64}/gi
const LIKE_A_MNEMONIC = /^\s*[a-z]+(?:\s+[a-z]+){11,}\s*$/i

/** A text of the user without what looks like a key, which was given in the wrong place. */
export const withoutKeys = (text: string): string =>
  LIKE_A_MNEMONIC.test(text) ? '[secret]' : text.replaceAll(LIKE_A_KEY, '[secret]')

/** Refuses words of a command line that would be sent with a key in them. @throws UsageError, which does not repeat them */
export function assertNoKeys(words: readonly unknown[]): void {
  if (words.some((word) => typeof word === 'string' && withoutKeys(word) !== word))
    throw new UsageError(
      'An argument looks like a private key or a mnemonic, so nothing was sent; keys come from a file, the environment or a terminal. Treat this one as known to others: it was in a command line',
    )
}
