/**
 * Removed before the rest is judged, so that a random secret that contains one by chance is not refused. No sequence of them reads
 * in two ways (`changeme`): a long secret would be tried in each of exponentially many.
 */
const WORDS = [
  'password',
  'passwort',
  'passphrase',
  'secret',
  'example',
  'default',
  'placeholder',
  'insecure',
  'replace',
  'change',
  'please',
  'supersecret',
  'letmein',
  'welcome',
  'qwertyuiop',
  'qwerty',
  'asdfghjkl',
  'asdf',
  'zxcvbnm',
  'admin',
  'administrator',
  'token',
  'private',
  'public',
  'key',
  'jwt',
  'test',
  'testing',
  'local',
  'localhost',
  'dev',
  'development',
  'staging',
  'production',
  'prod',
  'tollgate',
  'gateway',
  'facilitator',
  'deadbeef',
  'cafebabe',
  'this',
  'that',
  'your',
  'very',
  'long',
  'strong',
  'random',
  'string',
  'with',
  'least',
  'bytes',
  'characters',
  'not',
  'the',
  'for',
  'my',
  'is',
  'at',
  'of',
  'to',
  'me',
  'a',
  'in',
].toSorted((one, other) => other.length - one.length)

/** Not beside letters: `a` and `in` are words of their own. */
const words = new RegExp(`(?<![a-z])(?:${WORDS.join('|')})+(?![a-z])`, 'g')

/** Below it a secret could be guessed. `openssl rand -hex 16` has 128 bits, and by this estimate at least 80. */
const MIN_BITS = 64
const REPEATED_LENGTH = 4

/** Whether the secret is of repeated, consecutive or few different characters, or of well-known words. An estimate. */
export const isWeakSecret = (secret: string): boolean =>
  bitsOf(secret.toLowerCase().replace(words, ' ')) < MIN_BITS

function bitsOf(text: string): number {
  const characters = Array.from({ length: text.length }, (_, index) => text.charAt(index))
  const counted = characters.filter((_, index) => !isRepeated(text, index) && !isConsecutive(text, index))
  return counted.length * Math.log2(Math.max(1, new Set(counted).size))
}

/** The last of some characters that occurred in this order before. */
const isRepeated = (text: string, index: number): boolean =>
  index >= REPEATED_LENGTH &&
  text.indexOf(text.slice(index - REPEATED_LENGTH + 1, index + 1)) < index - REPEATED_LENGTH + 1

/** As far from the character before as that one is from its own: aaa, abc, 321. */
const isConsecutive = (text: string, index: number): boolean =>
  index >= 2 && 2 * text.charCodeAt(index - 1) === text.charCodeAt(index) + text.charCodeAt(index - 2)
