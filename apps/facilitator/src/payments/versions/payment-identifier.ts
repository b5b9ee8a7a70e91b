import { type PaymentPayloadV2 } from '@tollgate/protocol'
import { z } from 'zod'

/** The extension `payment-identifier` of x402 version 2: the id that the payer chose. */
const Extension = z.object({ info: z.object({ id: z.string().regex(/^[a-zA-Z0-9_-]{16,128}$/) }) })

/** Null if there is none. A malformed one is the resource server's to refuse. */
export const paymentIdentifierOf = ({ extensions }: Pick<PaymentPayloadV2, 'extensions'>): string | null =>
  Extension.safeParse(extensions?.['payment-identifier']).data?.info.id ?? null
