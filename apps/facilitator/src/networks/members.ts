import { env } from '@tollgate/service'
import { z } from 'zod'

/** The file is parsed as plain text: YAML would turn addresses and large numbers into floats. */
export const whole = (min: number, max: number) => {
  const wanted = `expected a whole number from ${min} to ${max}`
  return env.count.refine((value) => value >= min && value <= max, wanted)
}

export const list = <T extends z.ZodType<unknown, string>>(item: T) =>
  z
    .union([z.string(), z.array(z.string())], { error: 'expected a list' })
    .transform((given) => [given].flat().flatMap((text) => text.split(',').map((part) => part.trim())))
    .transform((parts) => parts.filter((part) => part !== ''))
    .pipe(z.array(item).min(1, 'expected at least one'))
