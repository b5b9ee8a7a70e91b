import { z } from 'zod'

/** Every answer that has nothing to tell but that all is well. */
export const StatusAnswer = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Status', examples: [{ status: 'ok' }] })
