import { z } from 'zod'
import { count } from '../query'

/** What several of the facilitator's messages hold. */
export const exampleAsset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const exampleAddress = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
export const exampleTime = '2026-01-15T12:00:00.000Z'

/** The largest id that a Postgres `integer` column holds. */
export const MAX_ID = 2_147_483_647

/** Text for people: no control characters, and no half of a surrogate pair, which not every store and screen takes. */
export const plainText = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not have control characters')

/** Which part of a list is wanted: `size` records where nothing is said, `max` at most. */
export const page = (size: number, max: number) => ({
  offset: count(0, MAX_ID).default(0).meta({ description: 'How many records to pass over.' }),
  limit: count(1, max).default(size).meta({ description: 'How many records at most.' }),
})
