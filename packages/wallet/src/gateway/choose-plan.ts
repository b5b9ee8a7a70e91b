import { TollgateError } from '../errors.js'
import { isSameAsset, unitsOf, type Limits, type ListedPrice } from '../limits.js'
import { type Ecosystem } from '../wallets/wallet.js'
import { type CreditBalance, type Plan } from './wire.js'

const namespaces: Record<string, string> = { evm: 'eip155', cosmos: 'cosmos' }

const networkOf = ({ ecosystem, chain_id }: Plan) => `${namespaces[ecosystem] ?? ecosystem}:${chain_id}`

export const priceOf = (plan: Plan): ListedPrice => ({
  network: networkOf(plan),
  asset: plan.asset_address,
  amount: BigInt(plan.amount),
})

type Wish = {
  id: number | undefined
  ecosystem: Ecosystem
  limits: Limits | undefined
  balances: CreditBalance[]
  /** Plans whose credits did not suffice. */
  tried?: ReadonlySet<number>
}

/**
 * The plan with this id; without one, of the plans that the wallet's ecosystem pays: one with credits left, else one within the
 * limits, else the first.
 *
 * @throws TollgateError INVALID_ARGUMENT, NO_PAYABLE_OFFER
 */
export function choosePlan(plans: readonly Plan[], { id, ecosystem, limits, balances, tried }: Wish): Plan {
  if (id !== undefined) {
    const plan = plans.find((candidate) => candidate.id === id)
    if (plan) return plan
    throw new TollgateError('INVALID_ARGUMENT', `plan: the gateway sells no plan ${id}; ${listOf(plans)}`)
  }
  const payable = plans.filter((plan) => plan.ecosystem === ecosystem)
  const hasCredits = (plan: Plan) =>
    balances.some(
      ({ pricing_plan_id, remaining_credits }) => pricing_plan_id === plan.id && remaining_credits > 0,
    )
  const withCredits = payable.find((plan) => !tried?.has(plan.id) && hasCredits(plan))
  const withinLimits = payable.find((plan) => isWithinLimits(plan, limits))
  const chosen = withCredits ?? withinLimits ?? payable[0]
  if (!chosen)
    throw new TollgateError(
      'NO_PAYABLE_OFFER',
      `The gateway sells no plan for ${ecosystem} wallets; ${listOf(plans)}`,
    )
  return chosen
}

/** Whether one payment of its price is. */
export const isWithinLimits = (plan: Plan, limits: Limits | undefined): boolean =>
  limits?.assets.some(
    (limit) =>
      isSameAsset(limit, { network: networkOf(plan), asset: plan.asset_address }) &&
      BigInt(plan.amount) <= unitsOf(limit.perPayment, limit),
  ) ?? false

const listOf = (plans: readonly Plan[]) =>
  plans.length === 0
    ? 'it sells none'
    : `it sells ${plans.map(({ id, plan_name, network }) => `${id} (${plan_name}, ${network})`).join(', ')}`
