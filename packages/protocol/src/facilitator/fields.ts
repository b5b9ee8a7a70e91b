import { z } from 'zod'
import { count, Day } from '../query'

export const exampleAsset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const exampleAddress = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
export const exampleTime = '2026-01-15T12:00:00.000Z'

/** The maximum of a Postgres `integer` column. */
export const MAX_ID = 2_147_483_647

/**
 * Displayed text: no control characters and no lone surrogates, which some databases and terminals reject.
 */
export const plainText = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not have control characters')

/** A text that people read as a name: also without what reorders or hides the text around it, such as marks of the writing direction. */
export const visibleText = (max: number) =>
  plainText(max).regex(/^[^\p{Cf}\p{Zl}\p{Zp}]*$/u, 'must not have invisible characters')

/** `size` is the default page size, `max` the largest. */
export const page = (size: number, max: number) => ({
  offset: count(0, MAX_ID).default(0).meta({ description: 'The number of records to skip.' }),
  limit: count(1, max).default(size).meta({ description: 'The maximum number of records.' }),
})

/** The next page begins after a record, not at an offset: it repeats and skips nothing. */
export const cursorPage = (size: number, max: number) => ({
  limit: count(1, max).default(size).meta({ description: 'The maximum number of records.' }),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'expected the `next` of the previous page')
    .optional()
    .meta({ description: 'The `next` of the previous page; omitted: the first page.' }),
})
export const next = z.string().nullable().describe('The `cursor` of the next page; null if this is the last.')

/** Only dates and times with an offset: a time without one means another moment in each place. */
export const Moment = z.union([Day, z.iso.datetime({ offset: true })], {
  error: 'must be a date like 2026-01-31, or a time like 2026-01-31T12:00:00Z',
})

export const nullableTime = z.iso.datetime().nullable()
