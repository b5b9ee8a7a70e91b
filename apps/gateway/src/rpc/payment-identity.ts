import { families } from '@tollgate/chains'
import { isDeepStrictEqual } from 'node:util'
import { type Plan } from '../catalog/catalog'
import { fingerprintOf, parsePaymentId, type IdentifiedPayment } from '../extensions/payment-identifier'
import { isPresenter, type Buyer } from '../payments/buy-credits'
import { type PaymentHeader } from '../payments/payment-header'
import { type PaymentRecord } from '../payments/payment-record'
import { termsOf } from '../payments/requirements'
import { type CallRequest } from './call'

export type Identity = Omit<IdentifiedPayment, 'paymentId'>

/** Undefined for a payment without an identifier. @throws ApiError INVALID_REQUEST for a malformed one */
export function identityOf(
  { call, resource, outgoing }: CallRequest,
  plan: Plan,
  payment: PaymentHeader,
): Identity | undefined {
  const id = parsePaymentId(payment.extensions)
  const signed = families[plan.ecosystem]?.readPayment(payment.payload)
  if (id === undefined || !signed) return undefined
  const path = `${resource} ${call.resource}`
  const fingerprint = fingerprintOf({ method: call.method, path, body: outgoing.payload, payment })
  return { payer: signed.payer, id, fingerprint }
}

/**
 * Whether the payer presents the payment, so that it may learn which identifiers it used. A payment that is recorded can be
 * public, on chain: only its first presenter counts. Where no key signed, it must be the one that was verified then.
 */
export function isProven(
  recorded: PaymentRecord | undefined,
  { plan, payment, buyer, now }: { plan: Plan; payment: PaymentHeader; buyer: Buyer; now: Date },
): boolean {
  if (recorded && !isPresenter(recorded, buyer)) return false
  if (recorded && isDeepStrictEqual(recorded.request.paymentPayload.payload, payment.payload)) return true
  const family = families[plan.ecosystem]
  const signed = family?.readPayment(payment.payload)
  if (!family || !signed) return false
  const result = family.checkOffline(signed, termsOf(plan), { chainId: plan.chainId, now })
  return 'signature' in result && result.signature === 'valid'
}
