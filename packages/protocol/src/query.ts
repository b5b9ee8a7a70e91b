import { z } from 'zod'

/** A whole number in a query: decimal digits only. */
export const count = (min: number, max: number, tooBig?: string) =>
  z
    .string()
    .transform((digits, context) => {
      if (/^(0|[1-9][0-9]{0,15})$/.test(digits)) return Number(digits)
      context.addIssue('expected a whole number')
      return z.NEVER
    })
    .pipe(z.int().min(min).max(max, tooBig))
    .meta({ type: 'integer', minimum: min, maximum: max })

const isDay = (text: string) => {
  const date = new Date(`${text}T00:00:00.000Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) && !text.startsWith('0000')
}

export const Day = z
  .string('must be one date like 2026-01-31')
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, 'must be a date like 2026-01-31')
  .refine(isDay, 'must be a day of the calendar')
  .meta({ format: 'date', examples: ['2026-01-31'] })
