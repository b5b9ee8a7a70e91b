import { type Response } from 'supertest'
import { outcomeOf } from './outcome'

type Body = Record<string, unknown>

export const NON_STRINGS = [null, 5, true, {}, [], ['x'], '']
export const NON_INTEGERS = [null, '1', 1.5, true, {}, [], 0, -1, 1e300]
export const nonEnumValues = (...words: string[]) => [
  ...NON_STRINGS,
  'nonsense',
  ...words.map((word) => `${word} `),
]

/**
 * Sends the body with each wrong value of one field, and without the field if it is required. Returns the values that were not
 * refused with 400 INVALID_REQUEST and a message that names the field.
 */
export async function findAcceptedValues(
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

export const typesOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(typesOf)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typesOf(member)]))
      : Number.isInteger(value)
        ? 'integer'
        : typeof value
