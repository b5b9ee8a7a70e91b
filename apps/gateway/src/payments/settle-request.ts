import { families, type Payment } from '@tollgate/chains'
import { type PaymentPayload, type SettleRequest } from '@tollgate/protocol'
import { isDeepStrictEqual } from 'node:util'
import { type Plan } from '../catalog/catalog'
import { type Listing } from '../extensions/bazaar'
import { type PaymentHeader } from './payment-header'
import { type PaymentRecord } from './payment-record'
import { isNetworkOf, requirementsOf } from './requirements'

type PaidResource = { resource: string; listing?: Listing | undefined }

/** What the facilitator is asked. With a `listing` it lists the paid URL for clients of both versions. */
export const settleRequestOf = (
  header: PaymentHeader,
  plan: Plan,
  { resource, listing }: PaidResource,
): SettleRequest => ({
  x402Version: 1,
  paymentPayload: paymentPayloadOf(header, plan),
  paymentRequirements: {
    ...requirementsOf(plan, resource),
    ...(listing?.outputSchema ? { outputSchema: listing.outputSchema } : {}),
  },
  ...(listing ? { extensions: listing.extensions } : {}),
})

const paymentPayloadOf = (
  { x402Version, scheme, network, payload }: PaymentHeader,
  plan: Plan,
): PaymentPayload => ({
  x402Version: x402Version ?? 1,
  scheme: scheme ?? 'exact',
  network: network === undefined || isNetworkOf(plan, network) ? plan.network : network,
  payload,
})

/** How a refused payment that is presented again may be reopened. */
export function reopeningOf(
  { request }: PaymentRecord,
  { plan, payment, header }: { plan: Plan; payment: Payment; header: PaymentHeader },
) {
  const paymentPayload = paymentPayloadOf(header, plan)
  const { scheme, network, payload } = request.paymentPayload
  const refused = [scheme, network, families[plan.ecosystem]?.readPayment(payload)]
  const isCorrected = !isDeepStrictEqual(refused, [paymentPayload.scheme, paymentPayload.network, payment])
  return { paymentPayload, validUntil: payment.validUntil ?? 0n, isCorrected }
}
