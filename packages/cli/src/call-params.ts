import { UsageError } from './exit-codes'

/**
 * The params of a JSON-RPC call from the words of a command line: JSON as JSON, other words as text. A single array is the whole
 * list.
 *
 * @throws UsageError for a word that begins like JSON and is not, and for a number that JavaScript cannot hold exactly
 */
export function parseParams(words: readonly string[]): unknown[] {
  const values = words.map(parseWord)
  const [first] = values
  return values.length === 1 && Array.isArray(first) ? (first as unknown[]) : values
}

/** The whole `params`: an array, or an object for methods that take names. @throws UsageError */
export function parseWholeParams(text: string): unknown {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null)
    throw new UsageError('--params must be a JSON array or a JSON object')
  return value
}

const NUMBER = /^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/
const BEGINS_LIKE_JSON = /^\s*[[{"]/

function parseWord(word: string): unknown {
  if (NUMBER.test(word)) return parseNumber(word)
  if (word === 'true' || word === 'false' || word === 'null') return JSON.parse(word)
  return BEGINS_LIKE_JSON.test(word) ? parseJson(word) : word
}

function parseNumber(word: string): number {
  const value = Number(word)
  if (String(value) === word) return value
  throw new UsageError(`The parameter ${word} is not exactly a number of JSON; quote it as text: '"${word}"'`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new UsageError(`This parameter is not valid JSON: ${text}`, { cause })
  }
}
