import { ApiError } from '@tollgate/service'
import { type Session } from '../auth/sessions'
import { type Catalog, type Plan } from '../catalog/catalog'
import { type Supported } from '../catalog/supported'
import { fitExtensions } from '../extensions/fit-extensions'
import { declareGasSponsoring } from '../extensions/gas-sponsoring'
import { type Purchase } from './buy-credits'
import { disputedPayment, facilitatorBusy } from './payment-errors'
import { type PaymentMetrics } from './payment-metrics'
import { type PaymentResponse } from './payment-response'
import { assertPlanActive, paymentRequired, paymentRequiredV2, type Shortfall } from './requirements'

/** `resource`: the URL that is paid for. `purchase`: what the attached payment, if any, bought. */
type Due = Pick<Shortfall, 'call'> & { plan: Plan; resource: string; purchase: Purchase | undefined }

export type RequirePlanPayment = ReturnType<typeof createPlanPayment>

/**
 * Answers 402 with the plan of a session.
 *
 * @throws ApiError PAYMENT_DISPUTED for such a purchase, NOT_FOUND for a retired plan, OVERLOADED if the payment could not be
 *   settled just now, and may be sent again
 */
export const createPlanPayment =
  (findFeePayer: Supported['findFeePayer'], metrics: PaymentMetrics) =>
  async (response: PaymentResponse, { plan, resource, purchase, call }: Due): Promise<undefined> => {
    if (purchase?.outcome === 'disputed') throw disputedPayment(purchase.id)
    assertPlanActive(plan)
    const refused = purchase?.outcome === 'refused' ? purchase : undefined
    const refusal = refused?.reason
    if (refusal === 'fee_allowance_exceeded') throw facilitatorBusy()
    const offer = paymentRequiredV2({ plan, feePayer: await findFeePayer(plan) }, resource, refusal)
    const body = paymentRequired(plan, resource, { call, refusal, detail: refused?.detail })
    metrics.required(refusal, call ? 'no_credits' : 'no_payment')
    response.requirePayment(body, fitExtensions(offer, declareGasSponsoring(offer.accepts)))
  }

/** Also a retired plan. @throws ApiError NOT_FOUND */
export async function getSessionPlan(
  catalog: Pick<Catalog, 'readPlans'>,
  { planId }: Session,
): Promise<Plan> {
  const plan = (await catalog.readPlans()).find(planId)
  if (!plan)
    throw new ApiError('NOT_FOUND', 'The plan of this session no longer exists; sign in on another one')
  return plan
}
