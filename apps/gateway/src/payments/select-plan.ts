import { families } from '@tollgate/chains'
import { type Plan } from '../catalog/catalog'
import { type PaymentHeader } from './payment-header'
import { isNetworkOf, matchesPlan, termsOf } from './requirements'

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
  const candidates = onSaleFirst.filter((plan) => network === undefined || isNetworkOf(plan, network))
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

/**
 * The plan on sale whose terms a payment of x402 version 1 misses, so that it is refused for what is wrong with it: one with its
 * recipient if there is any, then one with its amount.
 */
export function findMissedPlan(
  plans: readonly Plan[],
  { payload, network, accepted }: PaymentHeader,
): Plan | undefined {
  if (accepted) return undefined
  const missed = plans.flatMap((plan) => {
    const isPossible = plan.active && (network === undefined || isNetworkOf(plan, network))
    const payment = isPossible ? families[plan.ecosystem]?.readPayment(payload) : undefined
    if (!payment) return []
    return [{ plan, fit: 2 * Number(payment.payTo === plan.payTo) + Number(payment.amount === plan.amount) }]
  })
  return missed.toSorted((one, other) => other.fit - one.fit || one.plan.id - other.plan.id)[0]?.plan
}
