import { type PaymentRequiredV2 } from '@tollgate/protocol'
import { x402Client } from '@x402/core/client'
import { type PaymentRequired } from '@x402/core/types'

type Signed = { payload: Record<string, unknown>; extensions?: Record<string, unknown> }

/** The payment that the public client makes of a 402, whose extensions it returns. `signed`: by the client's scheme. */
export function publicPayment(required: PaymentRequiredV2, signed: Signed) {
  const client = new x402Client().setSpendControls(false)
  client.register(required.accepts[0]!.network as `${string}:${string}`, {
    scheme: 'exact',
    createPaymentPayload: () => Promise.resolve({ x402Version: 2, ...signed }),
  })
  return client.createPaymentPayload(structuredClone(required) as PaymentRequired)
}
