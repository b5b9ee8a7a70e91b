import { ApiError } from '@tollgate/service'
import { type Ledger } from '../accounts/ledger'
import { revokedToken, type Session, type Sessions } from '../auth/sessions'
import { type Catalog, type Plan } from '../catalog/catalog'
import { type BuyCredits, type Purchase } from '../payments/buy-credits'
import { type PaymentHeader } from '../payments/payment-header'
import { getSessionPlan, type RequirePlanPayment } from '../payments/plan-payment'
import { type PaymentStore } from '../payments/store'
import { chargeOf, FREE_CALLERS, spendOrConfirmShortage, type Price } from './charge'
import { type CallRequest, type CallResponse, type PaidFor } from './call'

type Dependencies = {
  catalog: Catalog
  sessions: Pick<Sessions, 'assertSessionActive'>
  buyCredits: BuyCredits
  requirePlanPayment: RequirePlanPayment
  payments: Pick<PaymentStore, 'getWalletStatus'>
  ledger: Ledger
}

type Ways = Price & { session: Session; payment: PaymentHeader | undefined }

export type PayInSession = ReturnType<typeof createPayInSession>

/** Spends the credits of the session's wallet on its plan, after a purchase if a payment came along. */
export const createPayInSession =
  (dependencies: Dependencies) =>
  async (
    request: CallRequest,
    response: CallResponse,
    { route, cost, session, payment }: Ways,
  ): Promise<PaidFor | undefined> => {
    const { catalog, ledger, payments } = dependencies
    const plan = await getSessionPlan(catalog, session)

    let purchase: Purchase | undefined
    if (payment) {
      await dependencies.sessions.assertSessionActive(session)
      await assertPaymentCovers(ledger, session, plan, cost)
      const buyer = { session, ...request.client(), resource: request.resource, span: request.span }
      purchase = await dependencies.buyCredits(buyer, plan, payment)
      response.setHeaders(purchase.receipt)
    }

    const { wallet } = session
    const authority = { kind: 'session', id: session.id } as const
    const charge = chargeOf(request.call, { authority, wallet, planId: plan.id }, { route, cost })
    const span = purchase?.outcome === 'paid' ? purchase.span : request.span
    const spent = await spendOrConfirmShortage({ ledger, payments }, charge, span)
    if (spent.outcome === 'paid')
      return { wallet: spent.isFree ? FREE_CALLERS : wallet, cost, spent, span, isRepeatable: false }
    if (spent.outcome !== 'insufficient') throw revokedToken()
    const { resource } = request
    const { remaining, free } = spent
    return dependencies.requirePlanPayment(response, {
      plan,
      resource,
      purchase,
      call: { cost, remaining, free },
    })
  }

async function assertPaymentCovers(ledger: Ledger, { wallet }: Session, plan: Plan, cost: number) {
  if (cost <= plan.credits) return
  const balance = (await ledger.getBalances(wallet)).find(({ planId }) => planId === plan.id)?.balance ?? 0n
  if (BigInt(cost) > balance + BigInt(plan.credits))
    throw new ApiError(
      'INVALID_REQUEST',
      `This call costs ${cost} credits, ${balance} are left and one payment buys ${plan.credits}; nothing was charged, so send smaller batches`,
    )
}
