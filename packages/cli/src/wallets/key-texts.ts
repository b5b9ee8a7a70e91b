const LIKE_A_KEY = /(?:0x)?[0-9a-f]{64}/gi
const LIKE_A_MNEMONIC = /^\s*[a-z]+(?:\s+[a-z]+){11,}\s*$/i

/** A text of the user without what looks like a key, which was given in the wrong place. */
export const withoutKeys = (text: string): string =>
  LIKE_A_MNEMONIC.test(text) ? '[secret]' : text.replaceAll(LIKE_A_KEY, '[secret]')
