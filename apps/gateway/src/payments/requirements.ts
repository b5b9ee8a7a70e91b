import { families, type Terms } from '@tollgate/chains'
import {
  caip2,
  findNetwork,
  formatAmount,
  specificationReason,
  x402V1Networks,
  type Ecosystem,
  type PaymentChoice,
  type PaymentRequired,
  type PaymentRequiredV2,
  type PaymentRequirements,
  type PaymentRequirementsV2,
  type PlanPaymentRequirements,
} from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Plan } from '../catalog/catalog'
import { type FeePayer } from '../catalog/supported'

/** Built from the plan only, never from the payer's input. `resource` is an absolute URL. */
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

const domainOf = ({ assetName: name, assetVersion: version }: Plan) =>
  name !== null && version !== null ? { extra: { name, version } } : {}

/** Whether clients of x402 version 1 can pay it: one entry that they cannot parse makes them refuse all. */
export const isPayableByV1 = ({ network, assetName, assetVersion, transferMethods }: Plan) =>
  x402V1Networks.has(network) &&
  assetName !== null &&
  assetVersion !== null &&
  transferMethods.includes('eip3009')

/**
 * The body of a 402. The members of x402 version 1 are included only if its clients can parse them: they throw on an empty list
 * and on unknown networks.
 */
export function paymentRequired(plan: Plan, resource: string, shortfall: Shortfall): PaymentRequired {
  const { refusal } = shortfall
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
  const body: PaymentRequired = { status: 402, message: messageOf(plan, shortfall), paymentRequirements: own }
  if (!isPayableByV1(plan)) return body
  return {
    ...body,
    x402Version: 1,
    error: refusal ?? 'X-PAYMENT header is required',
    accepts: [requirements],
  }
}

/** A plan on sale. `feePayer`: who bears the fee of a payment on a Cosmos network that names it. */
export type Offer = { plan: Plan; feePayer: FeePayer | undefined }

const feePayerExtra = ({ address, signs }: FeePayer) => ({
  feePayer: address,
  ...(signs && { feePayerSigns: true }),
})

/** A payment is settled before the call is forwarded: x402's flow `upfront`. Credits of a call that is not served are given back. */
const FLOW = { paymentFlow: 'upfront' }

/** One entry for each way to pay the plan, the preferred one first, which most clients take. */
export function offersOf({ plan, feePayer }: Offer): PaymentRequirementsV2[] {
  const terms = {
    scheme: 'exact',
    network: caip2(plan),
    amount: plan.amount.toString(),
    asset: plan.asset,
    payTo: plan.payTo,
    maxTimeoutSeconds: plan.maxTimeoutSeconds,
  }
  if (plan.ecosystem !== 'evm')
    return [{ ...terms, extra: { ...FLOW, ...(feePayer && feePayerExtra(feePayer)) } }]
  const extra = { ...domainOf(plan).extra, ...FLOW }
  return plan.transferMethods.map((method) => ({
    ...terms,
    extra: method === 'eip3009' ? extra : { ...extra, assetTransferMethod: method },
  }))
}

/** The header `PAYMENT-REQUIRED` of a 402 for a session, which pays its own plan. */
export const paymentRequiredV2 = (
  offer: Offer,
  resource: string,
  refusal: string | undefined,
): PaymentRequiredV2 => ({
  x402Version: 2,
  error: errorV2(refusal, offer.plan.ecosystem),
  resource: { url: resource, description: descriptionOf(offer.plan), mimeType: 'application/json' },
  accepts: offersOf(offer),
})

const CHOICE =
  'Calls to this chain are sold in bundles of credits. Each entry of `accepts` is one way to pay for one bundle: send the same request again with the signed payment in X-PAYMENT or PAYMENT-SIGNATURE, and the call is served at once; the other credits belong to the payer, who spends them after a sign-in'

const freeCallsText = (credits: number) =>
  `Without a payment, a network address has up to ${credits} free credits a day for calls to plain URLs, and a day ends at midnight UTC; they do not cover this request. `

/** The body of a 402 without a session: the client chooses among all plans. `accepts` has those of x402 version 1. */
export function paymentChoice(
  plans: readonly Plan[],
  resource: string,
  { problem, freePerAddress = 0 }: { problem?: Problem | undefined; freePerAddress?: number } = {},
): PaymentChoice {
  const free = freePerAddress === 0 ? '' : freeCallsText(freePerAddress)
  const message = problem === undefined ? `${free}${CHOICE}` : `${problem.message}. ${CHOICE}`
  const accepts = plans.filter(isPayableByV1).map((plan) => requirementsOf(plan, resource))
  const error =
    problem === undefined
      ? 'X-PAYMENT header is required'
      : specificationReason(problem.reason, { version: 1 })
  return { status: 402, message, ...(accepts.length === 0 ? {} : { x402Version: 1, error, accepts }) }
}

/** `pricingUrl`: where all plans are, if these offers are not all. */
export const paymentChoiceV2 = (
  offers: readonly Offer[],
  resource: string,
  { problem, pricingUrl }: { problem?: Problem | undefined; pricingUrl?: string | undefined } = {},
): PaymentRequiredV2 => ({
  x402Version: 2,
  error: errorV2(problem?.reason, problem?.ecosystem),
  resource: {
    url: resource,
    description: `RPC calls, paid by credits${pricingUrl === undefined ? '' : `; all plans: ${pricingUrl}`}`,
    mimeType: 'application/json',
  },
  accepts: offers.flatMap(offersOf),
})

/** Why an attached payment, on a chain of this ecosystem, bought or served nothing; `reason` is a code. */
export type Problem = { reason: string; message: string; ecosystem?: Ecosystem }

export const problemOf = (refusal: string, detail: string | undefined, { ecosystem }: Plan): Problem => ({
  reason: refusal,
  message: refusalMessage(refusal, detail),
  ecosystem,
})

const errorV2 = (refusal: string | undefined, ecosystem: Ecosystem = 'evm'): string =>
  refusal === undefined
    ? 'PAYMENT-SIGNATURE header is required'
    : specificationReason(refusal, { version: 2, ecosystem })

/** Whether the text is one of the names of the plan's network: that of x402 version 1, the chain id or CAIP-2. */
export const isNetworkOf = (plan: Plan, text: string): boolean =>
  findNetwork([{ ...plan, name: plan.network }], text) !== undefined

export function matchesPlan(plan: Plan, accepted: PaymentRequirementsV2): boolean {
  const family = families[plan.ecosystem]
  return (
    accepted.scheme === 'exact' &&
    isNetworkOf(plan, accepted.network) &&
    accepted.amount === plan.amount.toString() &&
    family?.parseAsset(accepted.asset) === plan.asset &&
    family.parseAddress(accepted.payTo) === plan.payTo
  )
}

/**
 * `call`: in credits; undefined for a purchase without a call. `free`: the balance in free credits, null for a wallet that was given none.
 * `refusal`: why the attached payment was refused.
 */
export type Shortfall = {
  call: { cost: number; remaining: bigint; free?: bigint | null } | undefined
  refusal: string | undefined
  detail?: string | undefined
}

function messageOf(plan: Plan, { call, refusal, detail }: Shortfall): string {
  const price = `${formatAmount(plan.amount, plan.decimals)} ${plan.displayDenom}`
  const pay = `pay ${price} and send the signed payment in X-PAYMENT`
  if (refusal !== undefined) return `${refusalMessage(refusal, detail)}; ${pay}`
  if (!call)
    return `Plan ${plan.id} sells ${plan.credits} credits for ${price}; send the signed payment in X-PAYMENT`
  const { cost, remaining, free } = call
  if (free)
    return `This call costs ${cost} credits, ${remaining} are left on plan ${plan.id} and ${free} free ones; ${pay}`
  if (remaining > 0n)
    return `This call costs ${cost} credits and ${remaining} are left on plan ${plan.id}; ${pay}`
  if (free === 0n) return `The free credits are spent, and no credits are left on plan ${plan.id}; ${pay}`
  return `No credits left on plan ${plan.id}; ${pay}`
}

function refusalMessage(refusal: string, detail: string | undefined): string {
  if (refusal === 'duplicate_settlement')
    return 'The payment was refused (duplicate_settlement): its authorization was used before, by another client of the facilitator'
  const reason = detail === undefined ? refusal : `${refusal}: ${detail}`
  if (refusal === 'invalid_transaction_state')
    return `The payment was refused (${reason}): its authorization was used or cancelled before, or its transfer would fail; this gateway charged nothing`
  if (refusal === 'transfer_event_mismatch')
    return `The payment moved something else than it says (${reason}) and bought nothing; the operator of this gateway has closed it`
  return `The payment was refused (${reason}) and nothing was charged`
}

/** @throws ApiError NOT_FOUND for a retired plan */
export function assertPlanActive(plan: Plan): void {
  if (!plan.active)
    throw new ApiError(
      'NOT_FOUND',
      `Plan ${plan.id} is not sold any more; call without X-PAYMENT while credits are left on it, or sign in on another one`,
    )
}

const descriptionOf = (plan: Plan) => `${plan.credits} credits for RPC calls (plan ${plan.name})`
