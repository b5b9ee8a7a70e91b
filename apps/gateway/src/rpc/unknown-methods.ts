import { readShortBody } from './upstream/read-body'
import { type Answer } from './upstream/upstream-exchange'

/** A longer answer is not searched: one error is far shorter. */
const MAX_BYTES = 16_384

/** Of JSON-RPC 2.0: method not found. Of EIP-1474: method not supported. */
const CODES = [-32_601, -32_004]

/**
 * How many calls a node answered with "method not found", if it answered all of them with that. 0 if one entry of a batch has
 * another answer: a batch is refunded as a whole or not at all.
 */
export function countUnknownMethods(answer: Answer): number {
  const text = readShortBody(answer, MAX_BYTES)
  // Most answers have neither, and are not parsed.
  if (!text || !CODES.some((code) => text.includes(String(code)))) return 0
  const entries = entriesOf(text.toString())
  return entries.every(isUnknownMethod) ? entries.length : 0
}

function entriesOf(text: string): unknown[] {
  try {
    return [JSON.parse(text) as unknown].flat()
  } catch {
    return []
  }
}

function isUnknownMethod(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null || 'result' in entry || !('error' in entry)) return false
  const { error } = entry
  return (
    typeof error === 'object' && error !== null && 'code' in error && CODES.includes(error.code as number)
  )
}
