import { type Catalog, type Plan } from '../catalog/catalog'
import { type Supported } from '../catalog/supported'
import { paymentChoice, paymentChoiceV2, type Problem } from '../payments/requirements'
import { ApiError } from '@tollgate/service'
import { type CallRequest, type CallResponse } from './call'

export type RequirePaymentChoice = ReturnType<typeof createPaymentChoice>

/** Answers 402 with all plans on sale, so that the client chooses how to pay. */
export function createPaymentChoice({
  catalog,
  findFeePayer,
}: {
  catalog: Pick<Catalog, 'getActivePlans'>
  findFeePayer: Supported['findFeePayer']
}) {
  const offerOf = async (plan: Plan) => ({ plan, feePayer: await findFeePayer(plan) })

  /** @throws ApiError UNAVAILABLE if no plan is on sale */
  return async (
    { resource }: Pick<CallRequest, 'resource'>,
    response: Pick<CallResponse, 'requirePayment'>,
    problem?: Problem,
  ): Promise<undefined> => {
    const plans = await catalog.getActivePlans()
    if (plans.length === 0) throw nothingOnSale()
    const offers = await Promise.all(plans.map(offerOf))
    response.requirePayment(
      paymentChoice(plans, resource, problem),
      paymentChoiceV2(offers, resource, problem),
    )
    return undefined
  }
}

const nothingOnSale = () =>
  new ApiError('UNAVAILABLE', 'No plan is on sale at present; sign in to spend credits that are left', {
    retryAfterSeconds: 60,
  })
