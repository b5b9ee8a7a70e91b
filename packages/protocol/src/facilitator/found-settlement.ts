import { z } from 'zod'

/** Identifies one payment of the client key. */
export type SettlementReference = { network: string; asset: string; payer: string; nonce: string }

/** What a newer facilitator adds, and words that it adds, are accepted. */
export const FoundSettlement = z.object({
  state: z.string(),
  reason: z.string().nullable(),
  transaction: z.string().nullable(),
  block: z.int().nullable(),
  confirmations: z.int().nullable(),
  requiredConfirmations: z.int().nullable(),
  transactions: z.array(z.object({ acceptedAt: z.string().nullable(), block: z.int().nullable() })),
})
/** `state`: pending, settled, failed or reversed. */
export type FoundSettlement = z.infer<typeof FoundSettlement>

/** Newest first. */
export const FoundSettlementIds = z.object({
  data: z.object({ settlements: z.array(z.object({ id: z.string() })) }),
})
export const FoundSettlementAnswer = z.object({ data: FoundSettlement })
