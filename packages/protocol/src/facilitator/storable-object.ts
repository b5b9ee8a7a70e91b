import { z } from 'zod'
import { plainText } from './fields'

const MAX_TEXT_LENGTH = 4_096
const storableText = plainText(MAX_TEXT_LENGTH)

/** Rejects exponents: a short number such as 1e300 becomes 300 digits in Postgres. */
const isPlainNumber = (value: number) => Number.isFinite(value) && !String(value).includes('e')

const isStorable = (value: unknown, depth: number): boolean => {
  if (typeof value === 'string') return storableText.safeParse(value).success
  if (typeof value === 'number') return isPlainNumber(value)
  if (typeof value !== 'object' || value === null) return true
  return (
    depth > 0 &&
    Object.entries(value).every(([name, member]) => isStorable(name, 0) && isStorable(member, depth - 1))
  )
}

/** A JSON object that Postgres can store as `jsonb`, of bounded size and depth. */
export const storableObject = (maxBytes: number, maxDepth: number) =>
  z
    .record(z.string(), z.unknown())
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes, {
      error: `must have at most ${maxBytes} bytes as JSON`,
      abort: true,
    })
    .refine(
      (value) => isStorable(value, maxDepth),
      `must have no control characters, no number that JSON writes with an exponent, and at most ${maxDepth} levels`,
    )
