/** Deeper than any valid message, and safe for recursive readers. */
const MAX_DEPTH = 64

const refusedKeys = new Set(['__proto__', 'constructor', 'prototype'])

export class JsonError extends Error {}

/** Limits the work of one JSON text. Checked before any value is built. */
export type JsonBounds = {
  values: number
  objects: number
  /** Keys of all objects, counted each time they occur. */
  keys: number
  /** Distinct keys of all objects: JSON.parse takes five times as long for a new key. */
  distinctKeys: number
  /** Keys with escapes, which are parsed one by one. */
  escapedKeys: number
  /**
   * Numbers of more than 15 characters, some of which JSON.parse converts with arbitrary-precision
   * arithmetic.
   */
  longNumbers: number
  /** Elements of arrays that are members of the outermost object, such as the entries of a batch. */
  entries: number
}

/**
 * Enough for a batch of 1,000 calls with 32 values and 4 objects each. CONTRIBUTING.md names the benchmark.
 */
export const jsonBounds: JsonBounds = {
  values: 32_768,
  objects: 4_096,
  keys: 16_384,
  distinctKeys: 2_048,
  escapedKeys: 1_024,
  longNumbers: 4_096,
  entries: 1_000,
}

export type JsonDocument = { value: unknown; members: Members }
type Members = ReadonlyMap<string, readonly [start: number, end: number]>

/**
 * Parses unambiguous JSON. Besides invalid JSON, it rejects duplicate keys, the keys `__proto__`,
 * `constructor` and `prototype`, more than 64 levels of nesting, and more than `bounds` allow. Linear in the
 * length of the text.
 *
 * @throws JsonError with a message that repeats no value
 */
export function readJson(text: string, bounds: JsonBounds = jsonBounds): JsonDocument {
  const members = scan(text, bounds)
  return { value: parsed(text), members }
}

export const parseJson = (text: string, bounds?: JsonBounds): unknown => readJson(text, bounds).value

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw notJson()
  }
}

const notJson = () => new JsonError('the text is not JSON')

/**
 * The members of the outermost object, each with its exact text; none if `text` is not an object. Linear in
 * the length of the text, which must have passed {@link readJson}.
 */
export function* memberTexts(text: string): Generator<[name: string, text: string], void> {
  let depth = 0
  let name = ''
  let start = -1
  let isKey = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at)
        if (isKey) {
          name = keyOf(text, at, end)
          at = text.indexOf(':', end)
          start = at + 1
          isKey = false
        } else at = end
        break
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        isKey = depth === 1 && text.charCodeAt(at) === OPEN_BRACE
        if (depth === 1 && !isKey) return
        break
      case COMMA:
        if (depth !== 1) break
        yield [name, text.slice(start, at).trim()]
        isKey = true
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        if (depth > 0) break
        if (start >= 0) yield [name, text.slice(start, at).trim()]
        return
    }
  }
}

const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const COLON = 0x3a
const BACKSLASH = 0x5c
const LETTER_E = 0x65
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** JSON.parse converts numbers up to this length with one multiplication. */
const SHORT_NUMBER = 15

/**
 * Checks the bounds in one pass that builds only keys, and returns the positions of the outermost object's
 * members. The text may still be invalid JSON: JSON.parse reads it afterwards.
 */
function scan(text: string, bounds: JsonBounds): Members {
  const members = new Map<string, readonly [number, number]>()
  const levels = createLevels(bounds)
  let { values, objects, entries, longNumbers, escapedKeys } = bounds
  let isKeyNext = false
  let name: string | undefined
  let start = 0

  const beginValue = () => {
    if (--values < 0) throw tooMany(bounds, 'values')
    if (levels.depth() === 2 && !levels.isObject() && --entries < 0) throw tooMany(bounds, 'entries')
  }
  const endMember = (end: number) => {
    if (name !== undefined && levels.depth() === 1) members.set(name, [start, end])
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    switch (code) {
      case QUOTE: {
        const end = endOfString(text, at)
        if (isKeyNext) {
          const key = keyOf(text, at, end)
          // An escape is longer than its character.
          if (key.length < end - at - 1 && --escapedKeys < 0) throw tooMany(bounds, 'escapedKeys')
          levels.addKey(key)
          if (levels.depth() === 1) name = key
          isKeyNext = false
        } else beginValue()
        at = end
        break
      }
      case COLON:
        if (levels.depth() === 1) start = at + 1
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        beginValue()
        isKeyNext = code === OPEN_BRACE
        if (isKeyNext && --objects < 0) throw tooMany(bounds, 'objects')
        levels.open(isKeyNext)
        break
      case COMMA:
        endMember(at)
        isKeyNext = levels.isObject()
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        endMember(at)
        levels.close()
        isKeyNext = false
        break
      case LETTER_T:
      case LETTER_F:
      case LETTER_N:
        beginValue()
        break
      default:
        if (code === MINUS || isDigit(code)) {
          beginValue()
          const end = endOfNumber(text, at)
          if (end - at > SHORT_NUMBER && --longNumbers < 0) throw tooMany(bounds, 'longNumbers')
          at = end - 1
        }
    }
  }
  return members
}

const nouns: Record<keyof JsonBounds, string> = {
  values: 'values',
  objects: 'objects',
  keys: 'keys',
  distinctKeys: 'different keys',
  escapedKeys: 'keys with an escape',
  longNumbers: `numbers of more than ${SHORT_NUMBER} characters`,
  entries: 'entries in a list',
}
const tooMany = (bounds: JsonBounds, name: keyof JsonBounds) =>
  new JsonError(`it has more than ${bounds[name]} ${nouns[name]}`)

/** Up to this number of keys a linear search is faster than a set. */
const FEW_KEYS = 16
const ARRAY = -1

/** The open objects and arrays at a position in the text, and the keys so far of each object. */
function createLevels(bounds: JsonBounds) {
  let left = bounds.keys
  let depth = 0
  const distinct = new Set<string>()
  /** Keys of all open objects, outermost first; those of a level begin at `first[level]`. */
  const keys: string[] = []
  const first = [ARRAY]
  const sets: (Set<string> | undefined)[] = []

  function isKnown(key: string, from: number) {
    if (keys.length - from <= FEW_KEYS) return keys.length > from && keys.includes(key, from)
    return (sets[depth] ??= new Set(keys.slice(from))).has(key)
  }
  return {
    depth: () => depth,
    isObject: () => first[depth] !== ARRAY,
    open(isObject: boolean) {
      if (depth === MAX_DEPTH) throw new JsonError(`it is nested deeper than ${MAX_DEPTH} levels`)
      first[++depth] = isObject ? keys.length : ARRAY
    },
    addKey(key: string) {
      if (refusedKeys.has(key)) throw new JsonError(`the key ${key} is not allowed`)
      if (isKnown(key, first[depth] ?? 0)) throw new JsonError('an object has the same key twice')
      if (--left < 0) throw tooMany(bounds, 'keys')
      distinct.add(key)
      if (distinct.size > bounds.distinctKeys) throw tooMany(bounds, 'distinctKeys')
      keys.push(key)
      sets[depth]?.add(key)
    },
    close() {
      if (depth === 0) throw notJson()
      const from = first[depth] ?? ARRAY
      if (from !== ARRAY && keys.length > from) {
        keys.length = from
        sets[depth] = undefined
      }
      depth--
    },
  }
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39

function endOfNumber(text: string, start: number) {
  for (let end = start + 1; ; end++) {
    const code = text.charCodeAt(end)
    if (!isDigit(code) && code !== MINUS && code !== PLUS && code !== POINT && (code | 0x20) !== LETTER_E)
      return end
  }
}

/** The index of the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number) {
  const quote = text.indexOf('"', start + 1)
  if (quote < 0) throw notJson()
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote
  for (let end = start + 1; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) return end
    if (code === BACKSLASH) end++
  }
  throw notJson()
}

function keyOf(text: string, start: number, end: number) {
  const key = text.slice(start + 1, end)
  return key.includes('\\') ? String(parsed(`"${key}"`)) : key
}
