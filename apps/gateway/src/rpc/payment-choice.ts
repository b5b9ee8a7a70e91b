import { caip2, type PaymentRequiredV2 } from '@tollgate/protocol'
import { ApiError, type Logger } from '@tollgate/service'
import { type Catalog, type Plan } from '../catalog/catalog'
import { type Supported } from '../catalog/supported'
import { declareJsonRpc, declareRest } from '../extensions/bazaar'
import { type Extensions } from '../extensions/extension'
import { fitExtensions } from '../extensions/fit-extensions'
import { declareGasSponsoring } from '../extensions/gas-sponsoring'
import { type OfferSigner } from '../extensions/offer-receipt'
import { paymentIdentifier } from '../extensions/payment-identifier'
import { type SignInWithX } from '../extensions/sign-in-with-x'
import { type PaymentMetrics } from '../payments/payment-metrics'
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
  metrics: PaymentMetrics
  logger: Logger
}) {
  const { catalog, findFeePayer, signInWithX, offerSigner, publicUrl, metrics, logger } = parts
  const offerOf = async (plan: Plan) => ({ plan, feePayer: await findFeePayer(plan) })

  /** Calls go on without a sign-in while nonces cannot be stored. */
  const declareSignIn = (resource: string, plans: readonly Plan[]): Promise<Extensions> =>
    signInWithX.declare(resource, plans).catch((error: unknown) => {
      logger.warn('sign-in not offered in a 402', { error })
      return {}
    })

  const extensionsOf = async (
    { resource, call }: PricedCall,
    plans: readonly Plan[],
    { accepts }: PaymentRequiredV2,
  ): Promise<Extensions> => ({
    ...bazaarOf(call, publicUrl),
    ...paymentIdentifier,
    ...declareGasSponsoring(accepts),
    ...(await declareSignIn(resource, plans)),
    ...offerSigner?.offers(resource, accepts),
  })

  /** @throws ApiError UNAVAILABLE if no plan is on sale */
  return async (
    priced: PricedCall,
    response: Pick<CallResponse, 'requirePayment'>,
    problem?: Problem,
  ): Promise<undefined> => {
    const { resource, credentials } = priced
    const plans = (await catalog.getActivePlans()).toSorted(evmFirst)
    if (plans.length === 0) throw nothingOnSale()
    const required = paymentChoiceV2(await Promise.all(plans.map(offerOf)), resource, problem)
    metrics.required(problem?.reason, credentials.kind === 'none' ? 'no_payment' : 'no_credits')
    response.requirePayment(
      paymentChoice(plans, resource, problem),
      fitExtensions(required, await extensionsOf(priced, plans, required)),
    )
  }
}

/** Public clients take the first entry, and sign in only if they can with its network. */
const evmFirst = (one: Plan, other: Plan) =>
  Number(other.ecosystem === 'evm') - Number(one.ecosystem === 'evm') || one.id - other.id

function bazaarOf(
  { ecosystem, chainId, transport, resource, method }: PricedCall['call'],
  publicUrl: string,
): Extensions {
  if (transport === 'rpc' && method === 'POST') return declareJsonRpc(ecosystem)
  const [path = '', search = ''] = resource.split('?')
  const base = `${publicUrl}/v1/${caip2({ ecosystem, chainId })}${transport === 'rest' ? '/rest' : ''}`
  return declareRest({ base, path, query: Object.fromEntries(new URLSearchParams(search)) })
}

const nothingOnSale = () =>
  new ApiError('UNAVAILABLE', 'No plan is on sale at present; sign in to spend credits that are left', {
    retryAfterSeconds: 60,
  })
