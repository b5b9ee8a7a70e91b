import {
  formatAmount,
  x402V1Networks,
  type PaymentRequired,
  type PaymentRequirements,
  type PlanPaymentRequirements,
} from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Plan } from '../catalog/catalog'

/** What the facilitator must see paid: the plan's own terms, and nothing that the payer said. `resource` is an absolute URL. */
export const requirementsOf = (plan: Plan, resource: string): PaymentRequirements => ({
  scheme: 'exact',
  network: plan.network,
  maxAmountRequired: plan.amount.toString(),
  resource,
  description: descriptionOf(plan),
  mimeType: 'application/json',
  payTo: plan.payTo,
  maxTimeoutSeconds: plan.maxTimeoutSeconds,
  asset: plan.asset,
  ...(plan.assetName !== null && plan.assetVersion !== null
    ? { extra: { name: plan.assetName, version: plan.assetVersion } }
    : {}),
})

/**
 * The body of a 402. `paymentRequirements` is the gateway's own; beside it stand the members of x402 version 1, where
 * its clients can read them: they throw on an empty list, and on an entry with a network they do not know.
 */
export function paymentRequired(plan: Plan, resource: string, lack: Lack): PaymentRequired {
  const { refusal } = lack
  const requirements = requirementsOf(plan, resource)
  const own: PlanPaymentRequirements = {
    scheme: 'exact',
    network: plan.chainId,
    asset: plan.asset,
    maxAmountRequired: requirements.maxAmountRequired,
    mimeType: 'application/json',
    payTo: plan.payTo,
    maxTimeoutSeconds: plan.maxTimeoutSeconds,
    description: requirements.description,
  }
  const price = `${formatAmount(plan.amount, plan.decimals)} ${plan.displayDenom}`
  const message = `${whyOf(plan, lack)}; pay ${price} and send the signed payment in X-PAYMENT`
  const body: PaymentRequired = { status: 402, message, paymentRequirements: own }
  if (requirements.extra === undefined || !x402V1Networks.has(plan.network)) return body
  return {
    ...body,
    x402Version: 1,
    error: refusal ?? 'X-PAYMENT header is required',
    accepts: [requirements],
  }
}

/** What the caller lacks: the call's cost and what is left, in credits, and why the payment that came along was refused. */
export type Lack = { cost: number; remaining: bigint; refusal: string | undefined }

function whyOf(plan: Plan, { cost, remaining, refusal }: Lack): string {
  if (refusal === 'duplicate_settlement')
    return 'The payment was refused (duplicate_settlement): its authorization was used before, by another client of the facilitator'
  if (refusal !== undefined) return `The payment was refused (${refusal}) and nothing was charged`
  if (remaining > 0n) return `This call costs ${cost} credits and ${remaining} are left on plan ${plan.id}`
  return `No credits left on plan ${plan.id}`
}

/** @throws ApiError NOT_FOUND for a plan that is not sold any more: nobody is asked to pay for it, and nobody may */
export function mustBeSold(plan: Plan): void {
  if (!plan.active)
    throw new ApiError(
      'NOT_FOUND',
      `Plan ${plan.id} is not sold any more; call without X-PAYMENT while credits are left on it, or sign in on another one`,
    )
}

const descriptionOf = (plan: Plan) => `${plan.credits} credits for RPC calls (plan ${plan.name})`
