import { families, type Terms } from '@tollgate/chains'
import {
  caip2,
  findNetwork,
  formatAmount,
  x402V1Networks,
  type PaymentRequired,
  type PaymentRequiredV2,
  type PaymentRequirements,
  type PaymentRequirementsV2,
  type PlanPaymentRequirements,
} from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Plan } from '../catalog/catalog'
import { codeOf } from './receipt'

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
  ...domainOf(plan),
})

/** The same, as a chain family checks it. */
export const termsOf = ({
  asset,
  displayDenom,
  decimals,
  assetName,
  assetVersion,
  payTo,
  amount,
}: Plan): Terms => ({
  token: {
    asset,
    symbol: displayDenom,
    decimals,
    ...(assetName === null ? {} : { name: assetName }),
    ...(assetVersion === null ? {} : { version: assetVersion }),
  },
  payTo,
  amount,
})

/** Of the token's EIP-712 domain, where it has one. */
const domainOf = ({ assetName: name, assetVersion: version }: Plan) =>
  name !== null && version !== null ? { extra: { name, version } } : {}

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

/**
 * What the header `PAYMENT-REQUIRED` of a 402 says: the same, as x402 version 2 has it, for plans of every network.
 * `feePayer` is whom a payment may name to bear its fee, where its payer chooses that: `fee.granter` on a Cosmos network.
 */
export const paymentRequiredV2 = (
  plan: Plan,
  resource: string,
  { refusal, feePayer }: { refusal: string | undefined; feePayer: string | undefined },
): PaymentRequiredV2 => ({
  x402Version: 2,
  error: refusal === undefined ? 'PAYMENT-SIGNATURE header is required' : codeOf(refusal),
  resource: { url: resource, description: descriptionOf(plan), mimeType: 'application/json' },
  accepts: [
    {
      scheme: 'exact',
      network: caip2(plan),
      amount: plan.amount.toString(),
      asset: plan.asset,
      payTo: plan.payTo,
      maxTimeoutSeconds: plan.maxTimeoutSeconds,
      ...(feePayer === undefined ? domainOf(plan) : { extra: { feePayer } }),
    },
  ],
})

/** Whether what a payer of x402 version 2 says that it agreed to is what the plan asks for. */
export function isAskedBy(plan: Plan, accepted: PaymentRequirementsV2): boolean {
  const family = families[plan.ecosystem]
  return (
    accepted.scheme === 'exact' &&
    findNetwork([{ ...plan, name: plan.network }], accepted.network) !== undefined &&
    accepted.amount === plan.amount.toString() &&
    family?.parseAsset(accepted.asset) === plan.asset &&
    family.parseAddress(accepted.payTo) === plan.payTo
  )
}

/** What the caller lacks: the call's cost and what is left, in credits, and why the payment that came along was refused. */
export type Lack = {
  cost: number
  remaining: bigint
  refusal: string | undefined
  /** Of the refusal, in words. */
  detail?: string | undefined
}

function whyOf(plan: Plan, { cost, remaining, refusal, detail }: Lack): string {
  if (refusal === 'duplicate_settlement')
    return 'The payment was refused (duplicate_settlement): its authorization was used before, by another client of the facilitator'
  const words = detail === undefined ? refusal : `${refusal}: ${detail}`
  if (refusal === 'invalid_transaction_state')
    return `The payment was refused (${words}): its authorization was used or cancelled before, or its transfer would fail; this gateway charged nothing`
  if (refusal === 'transfer_event_mismatch')
    return `The payment moved something else than it says (${words}) and bought nothing; the operator of this gateway has closed it`
  if (refusal !== undefined) return `The payment was refused (${words}) and nothing was charged`
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
