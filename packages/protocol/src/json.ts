/** Deeper than any message we take, and shallow enough for every recursive reader behind us. */
const MAX_DEPTH = 64

const refusedKeys = new Set(['__proto__', 'constructor', 'prototype'])

/** What is wrong with a JSON text, in words for its sender. */
export class JsonError extends Error {}

/**
 * Parses a JSON text of which only one reading is possible: besides what JSON.parse refuses, it refuses a key that
 * occurs twice in one object, the keys `__proto__`, `constructor` and `prototype`, and more than 64 levels of nesting.
 * Linear in the length of the text.
 *
 * @throws JsonError that says what is wrong and never repeats a value
 */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new JsonError('the text is not JSON')
  }
  refuseAmbiguity(text)
  return value
}

/**
 * The text, exactly as it was sent, of one member of the object that `text` holds; undefined where there is none.
 * `text` must have passed {@link parseJson}.
 */
export function memberText(text: string, name: string): string | undefined {
  for (const [key, member] of memberTexts(text)) if (key === name) return member
  return undefined
}

/**
 * Every member of the object that `text` holds, each with its text exactly as it was sent; none where it holds something
 * else. Linear in the length of the text, which must have passed {@link parseJson}.
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
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** Walks a text that is known to be JSON: each string in it that stands where a key stands is a key. */
function refuseAmbiguity(text: string) {
  /** The keys met so far of each object that is open; undefined for an array. */
  const open: (Set<string> | undefined)[] = []
  let keys: Set<string> | undefined
  let isKey = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at)
        if (isKey && keys) {
          const key = keyOf(text, at, end)
          if (refusedKeys.has(key)) throw new JsonError(`the key ${key} is not allowed`)
          if (keys.has(key)) throw new JsonError('an object has the same key twice')
          keys.add(key)
          isKey = false
        }
        at = end
        break
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (open.length === MAX_DEPTH) throw new JsonError(`it is nested deeper than ${MAX_DEPTH} levels`)
        isKey = text.charCodeAt(at) === OPEN_BRACE
        keys = isKey ? new Set() : undefined
        open.push(keys)
        break
      case COMMA:
        isKey = keys !== undefined
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop()
        keys = open.at(-1)
        isKey = false
        break
    }
  }
}

/** The index of the quote that closes the string whose opening quote is at `start`. */
function endOfString(text: string, start: number) {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
}

function keyOf(text: string, start: number, end: number) {
  const key = text.slice(start + 1, end)
  return key.includes('\\') ? (JSON.parse(`"${key}"`) as string) : key
}
