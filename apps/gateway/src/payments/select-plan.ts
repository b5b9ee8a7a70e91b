import { families } from '@tollgate/chains'
import { type Plan } from '../catalog/catalog'
import { type PaymentHeader } from './payment-header'
import { matchesPlan, termsOf } from './requirements'

/**
 * The plan that a payment without a session pays: in x402 version 2 the one that its payer accepted, in version 1 the one that
 * its signed terms fit. Of several, one on sale, then the one with the lowest id. Undefined if it pays none.
 */
export function selectPlan(
  plans: readonly Plan[],
  { payload, network, accepted }: PaymentHeader,
  now: Date,
): Plan | undefined {
  const onSaleFirst = plans.toSorted(
    (one, other) => Number(other.active) - Number(one.active) || one.id - other.id,
  )
  if (accepted) return onSaleFirst.find((plan) => matchesPlan(plan, accepted))
  const candidates = onSaleFirst.filter((plan) => network === undefined || network === plan.network)
  let possible: Plan | undefined
  for (const plan of candidates) {
    const family = families[plan.ecosystem]
    const payment = family?.readPayment(payload)
    if (!family || !payment || payment.payTo !== plan.payTo || payment.amount !== plan.amount) continue
    const result = family.checkOffline(payment, termsOf(plan), { chainId: plan.chainId, now })
    if ('signature' in result && result.signature === 'valid') return plan
    // A key signs for one asset and chain. Without a valid signature of it, or once expired, the terms alone decide.
    possible ??= plan
  }
  return possible
}
