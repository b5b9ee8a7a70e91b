import { caip2, type PaymentRequiredV2 } from '@tollgate/protocol'
import { ApiError, type Logger } from '@tollgate/service'
import { type Catalog, type Plan } from '../catalog/catalog'
import { type Supported } from '../catalog/supported'
import { baseOf, declareJsonRpc, declareRest } from '../extensions/bazaar'
import { type Extensions } from '../extensions/extension'
import { fitExtensions } from '../extensions/fit-extensions'
import { declareGasSponsoring } from '../extensions/gas-sponsoring'
import { type OfferSigner } from '../extensions/offer-receipt'
import { paymentIdentifier } from '../extensions/payment-identifier'
import { type SignInWithX } from '../extensions/sign-in-with-x'
import { type PaymentMetrics } from '../payments/payment-metrics'
import { fitOffers } from '../payments/fit-offers'
import { paymentChoice, paymentChoiceV2, type Problem } from '../payments/requirements'
import { type Call, type CallResponse, type Credentials } from './call'

/** `resource`: the URL of the call. */
export type PricedCall = {
  resource: string
  credentials: Pick<Credentials, 'kind'>
  call: Pick<Call, 'ecosystem' | 'chainId' | 'transport' | 'resource' | 'method'>
}

export type RequirePaymentChoice = ReturnType<typeof createPaymentChoice>

/** Answers 402 with all plans on sale, so that the client chooses how to pay. */
export function createPaymentChoice(parts: {
  catalog: Pick<Catalog, 'getActivePlans'>
  findFeePayer: Supported['findFeePayer']
  signInWithX: Pick<SignInWithX, 'declare'>
  offerSigner: OfferSigner | undefined
  publicUrl: string
  freePerAddress: number
  metrics: PaymentMetrics
  logger: Logger
}) {
  const { catalog, findFeePayer, signInWithX, offerSigner, publicUrl, freePerAddress, metrics, logger } =
    parts
  const offerOf = async (plan: Plan) => ({ plan, feePayer: await findFeePayer(plan) })

  /** Calls go on without a sign-in while nonces cannot be stored. */
  const declareSignIn = (resource: string, plans: readonly Plan[]): Promise<Extensions> =>
    signInWithX.declare(resource, plans).catch((error: unknown) => {
      logger.warn('sign-in not offered in a 402', { error })
      return {}
    })

  const extensionsOf = async (
    { call }: PricedCall,
    plans: readonly Plan[],
    { accepts, resource: { url } }: PaymentRequiredV2,
  ): Promise<Extensions> => ({
    ...bazaarOf(call, publicUrl),
    ...paymentIdentifier,
    ...declareGasSponsoring(accepts),
    ...(await declareSignIn(url, plans)),
    ...offerSigner?.offers(url, accepts),
  })

  /** @throws ApiError UNAVAILABLE if no plan is on sale */
  return async (
    priced: PricedCall,
    response: Pick<CallResponse, 'requirePayment'>,
    problem?: Problem,
  ): Promise<undefined> => {
    const { resource, credentials } = priced
    const plans = await catalog.getActivePlans()
    if (plans.length === 0) throw nothingOnSale()
    const offered = fitOffers(await Promise.all(plans.map(offerOf)), caip2(priced.call))
    const shown = offered.map(({ plan }) => plan)
    const hidden = plans.filter((plan) => !shown.includes(plan))
    const pricingUrl = hidden.length > 0 ? `${publicUrl}/pricing` : undefined
    const required = paymentChoiceV2(offered, headerUrlOf(priced, publicUrl), { problem, pricingUrl })
    const isAnonymous = credentials.kind === 'none'
    metrics.required(problem?.reason, isAnonymous ? 'no_payment' : 'no_credits')
    const free = isAnonymous ? { freePerAddress } : {}
    response.requirePayment(
      paymentChoice([...shown, ...hidden], resource, { problem, ...free }),
      fitExtensions(required, await extensionsOf(priced, shown, required)),
    )
  }
}

const MAX_URL_LENGTH = 512

/** A long URL, of a REST call, is shortened to that of its chain, so that the header fits. */
const headerUrlOf = ({ resource, call }: PricedCall, publicUrl: string) =>
  resource.length > MAX_URL_LENGTH ? `${publicUrl}/v1/${caip2(call)}` : resource

function bazaarOf(call: PricedCall['call'], publicUrl: string): Extensions {
  const { ecosystem, transport, resource, method } = call
  if (transport === 'rpc' && method === 'POST') return declareJsonRpc(ecosystem)
  const [path = '', search = ''] = resource.split('?')
  return declareRest({
    base: baseOf(call, publicUrl),
    path,
    query: Object.fromEntries(new URLSearchParams(search)),
  })
}

const nothingOnSale = () =>
  new ApiError('UNAVAILABLE', 'No plan is on sale at present; sign in to spend credits that are left', {
    retryAfterSeconds: 60,
  })
