import { z } from 'zod'

export const StatusAnswer = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Status', examples: [{ status: 'ok' }] })
