import { z } from 'zod'
import { count, Day } from '../query'
import { FREE_PLAN_ID } from './fields'

export const UsageInterval = z.enum(['hour', 'day'])
export type UsageInterval = z.infer<typeof UsageInterval>

/** Only dates and times with an offset: a time without one means another moment in each place. */
const Moment = z.union([Day, z.iso.datetime({ offset: true })], {
  error: 'must be a date like 2026-01-31, or a time like 2026-01-31T12:00:00Z',
})

export const UsageQuery = z.object({
  from: Moment.optional().meta({
    description:
      'The hour or day that this time is in is the first one; a date begins at 00:00 UTC. Default: 24 hours, or 30 days, before `to`.',
    examples: ['2026-01-01'],
  }),
  to: Moment.optional().meta({
    description:
      'The hour or day that ends at or after this time is the last one; a date ends at 24:00 UTC. Default: now.',
    examples: ['2026-01-31T12:00:00Z'],
  }),
  interval: UsageInterval.default('day').meta({
    description: '`hour`, for at most 7 days, or `day` (UTC), for at most 366.',
  }),
  plan_id: count(FREE_PLAN_ID, 2_147_483_647)
    .optional()
    .meta({ description: 'Only the calls paid on this plan; 0 for the free ones.' }),
})
export type UsageQuery = z.infer<typeof UsageQuery>

export const UsageSum = z
  .object({
    period: z.iso.datetime().meta({ description: 'When the hour or day began.' }),
    chain_id: z.string(),
    rpc_method: z.string().nullable().meta({
      description:
        'Of JSON-RPC calls; null for REST. `other` sums the methods of the chain that were called least, if there are more than 20.',
    }),
    calls: z.int().meta({ description: 'All paid calls, also those that failed or have not ended.' }),
    credits: z.int().meta({ description: 'What they cost, without what was given back.' }),
    failed: z.int().meta({
      description:
        'Calls that no upstream answered, or with a status of 500 or more, or whose credits were given back.',
    }),
  })
  .meta({ id: 'UsageSum', description: 'The calls of one method on one chain, in one hour or on one day.' })
export type UsageSum = z.infer<typeof UsageSum>

export const UsageAnswer = z.object({
  data: z.array(UsageSum),
  from: z.iso.datetime(),
  to: z.iso.datetime().meta({ description: 'Exclusive.' }),
  interval: UsageInterval,
})
export type UsageAnswer = z.infer<typeof UsageAnswer>
