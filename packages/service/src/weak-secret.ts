/**
 * Removed before the rest is judged, so that a random secret that contains one by chance is not refused. No sequence of them reads
 * in two ways (`changeme`): a long secret would be tried in each of exponentially many.
 */
const WORDS = [
  'password',
  'passw0rd',
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
  'postgres',
  'redis',
  'database',
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
const words = new RegExp(`(?<![a-z])(?:${WORDS.join('|')})+(?![a-z])`, 'gi')

/** By their first letter, the letters that often follow it in English: a third of all pairs, and most of those in a sentence. */
const FOLLOWERS: Readonly<Partial<Record<string, string>>> = {
  a: 'bcdfgiklmnprstuvwy',
  b: 'aeiloruy',
  c: 'acehiklortu',
  d: 'aeiorsu',
  e: 'acdefgilmnopqrstvwxy',
  f: 'aefilortu',
  g: 'aehilnoru',
  h: 'aeiortu',
  i: 'abcdefglmnoprstvz',
  j: 'eou',
  k: 'ein',
  l: 'adefilostuy',
  m: 'abeimopsuy',
  n: 'acdefgiklnostuvy',
  o: 'abcdfgiklmnoprstuvw',
  p: 'aehiloprstu',
  q: 'u',
  r: 'acdegiklmnorstuvy',
  s: 'acehilmopstuy',
  t: 'aehilorstuwy',
  u: 'abcdegilmnprst',
  v: 'aeio',
  w: 'aehino',
  x: 'p',
  y: 'eos',
}

/** Below it a secret could be guessed. `openssl rand -hex 16` has 128 bits, and by this estimate at least 75. */
const MIN_BITS = 64
/** Passwords of ten random letters and digits have more. */
const MIN_PASSWORD_BITS = 20
const REPEATED_LENGTH = 4
/** Of frequent pairs in a row. Random letters have so many of them rarely, words often. */
const MIN_WORD_PAIRS = 4

/**
 * Whether the secret is of repeated, consecutive or few different characters, of well-known words, or of English ones without spaces.
 * An estimate.
 */
export function isWeakSecret(secret: string): boolean {
  const text = withoutKnownWords(secret)
  const isInWord = lettersInWords(text)
  return bitsOf(text, (index) => isInWord[index] !== true) < MIN_BITS
}

/** For passwords that only a server checks, one guess at a time: too short a text to tell words from chance. */
export const isWeakPassword = (password: string): boolean =>
  bitsOf(withoutKnownWords(password)) < MIN_PASSWORD_BITS

const withoutKnownWords = (text: string) => text.replace(words, ' ')

function bitsOf(given: string, isUnpredictable: (index: number) => boolean = () => true): number {
  const text = given.toLowerCase()
  const counted = Array.from({ length: text.length }, (_, index) => index).filter(
    (index) => !isRepeated(text, index) && !isConsecutive(text, index),
  )
  const distinct = new Set(counted.map((index) => text.charAt(index))).size
  return counted.filter(isUnpredictable).length * Math.log2(Math.max(1, distinct))
}

/** By index, whether the character follows from those before it: it continues a row of frequent pairs. */
function lettersInWords(text: string): boolean[] {
  const isFrequent = Array.from({ length: text.length }, (_, index) => isFrequentPair(text, index))
  const startOf = (index: number) => isFrequent.lastIndexOf(false, index) + 1
  const endOf = (index: number) => {
    const end = isFrequent.indexOf(false, index)
    return end === -1 ? text.length : end
  }
  return isFrequent.map((is, index) => is && endOf(index) - startOf(index) >= MIN_WORD_PAIRS)
}

/** In one word: not from a small letter to a capital one. */
function isFrequentPair(text: string, index: number): boolean {
  const pair = text.slice(Math.max(0, index - 1), index + 1)
  const [first = '', second = ''] = pair.toLowerCase()
  return second !== '' && !/^[a-z][A-Z]/.test(pair) && FOLLOWERS[first]?.includes(second) === true
}

/** The last of some characters that occurred in this order before. */
const isRepeated = (text: string, index: number): boolean =>
  index >= REPEATED_LENGTH &&
  text.indexOf(text.slice(index - REPEATED_LENGTH + 1, index + 1)) < index - REPEATED_LENGTH + 1

/** As far from the character before as that one is from its own: aaa, abc, 321. */
const isConsecutive = (text: string, index: number): boolean =>
  index >= 2 && 2 * text.charCodeAt(index - 1) === text.charCodeAt(index) + text.charCodeAt(index - 2)
