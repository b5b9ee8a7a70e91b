import { type Response } from 'supertest'
import { outcomeOf } from './outcome'

type Body = Record<string, unknown>

/** What is no text of any length, for a field that must be some. */
export const noText = [null, 5, true, {}, [], ['x'], '']
/** What is no whole number of at least one, for a field that must be one. */
export const noInteger = [null, '1', 1.5, true, {}, [], 0, -1, 1e300]
/** What is none of the words that a field knows. */
export const noWordOf = (...words: string[]) => [...noText, 'nonsense', ...words.map((word) => `${word} `)]

/**
 * Sends a body that is good but for one field: without it where it is required, and with each wrong value. Answers those
 * that were not refused as they should be, with 400 INVALID_REQUEST and a message that names the field.
 */
export async function wronglyTaken(
  send: (body: Body) => PromiseLike<Response>,
  good: Body,
  field: string,
  { required, wrong }: { required: boolean; wrong: readonly unknown[] },
): Promise<unknown[]> {
  const taken: unknown[] = []
  for (const value of required ? [undefined, ...wrong] : wrong) {
    const answer = await send({ ...good, [field]: value })
    const { message = '' } = answer.body as { message?: string }
    const isRefused = answer.status === 400 && outcomeOf(answer)[1] === 'INVALID_REQUEST'
    if (!isRefused || !new RegExp(String.raw`\b${field}(\[0\])?:`).test(message))
      taken.push([value, ...outcomeOf(answer), message])
  }
  return taken
}

/** The types of an answer's members, by name: what a client may count on. */
export const typesOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(typesOf)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typesOf(member)]))
      : Number.isInteger(value)
        ? 'integer'
        : typeof value
