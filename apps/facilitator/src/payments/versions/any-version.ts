import { type Request, type Response } from 'express'
import { z } from 'zod'
import { type Caller } from '../../clients/store'
import { type createPaymentHandlers } from '../handlers'

type PaymentHandlers = ReturnType<typeof createPaymentHandlers>

const Version = z.object({
  x402Version: z.unknown().optional(),
  paymentPayload: z.object({ x402Version: z.unknown() }).optional().catch(undefined),
})

/** Version 2 by the body's `x402Version`, else by that of its payload; version 1 in all other cases. */
function isVersion2(body: unknown): boolean {
  const { data } = Version.safeParse(body)
  return (data?.x402Version ?? data?.paymentPayload?.x402Version) === 2
}

/** One address for both versions: each request is answered exactly as at the address of its version. */
export function createPaymentHandlersOfAnyVersion(v1: PaymentHandlers, v2: PaymentHandlers): PaymentHandlers {
  const handlersFor = (body: unknown) => (isVersion2(body) ? v2 : v1)
  return {
    verify: (req: Request, res: Response, caller: Caller) => handlersFor(req.body).verify(req, res, caller),
    settle: (req: Request, res: Response, caller: Caller) => handlersFor(req.body).settle(req, res, caller),
  }
}
