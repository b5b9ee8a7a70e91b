import { type Span } from '@tollgate/service'
import { type Ledger } from '../accounts/ledger'
import { type Session, type Sessions } from '../auth/sessions'
import { type Catalog } from '../catalog/catalog'
import { type CallsInFlight } from '../rpc/calls-in-flight'
import { type BuyCredits } from './buy-credits'
import { disputedPayment, pendingPayment } from './payment-errors'
import { type PaymentHeader } from './payment-header'
import { type PaymentRecord } from './payment-record'
import { type PaymentResponse } from './payment-response'
import { getSessionPlan, type RequirePlanPayment } from './plan-payment'
import { type PaymentStore } from './store'

type PurchaseRequest = {
  session: Session
  payment: PaymentHeader | undefined
  client: { address: string; requestId: string; span: Span | undefined }
  resource: string
}

/** `remaining`: on the plan of the payment, after it. */
type Bought = { payment: PaymentRecord; remaining: bigint }

/** Purchases wait for the facilitator, all together as the calls of one chain. */
const PURCHASES = 'purchases'

export type BuyInSession = ReturnType<typeof createBuyInSession>

/**
 * Buys credits of the session's plan without a call. Undefined if it answered 402, without a payment or with a refused one. A
 * payment that bought credits before, here or with a call, is that purchase again.
 *
 * @throws ApiError PAYMENT_PENDING and PAYMENT_DISPUTED instead of a 402 while another payment may still take the wallet's money
 */
export function createBuyInSession(parts: {
  catalog: Pick<Catalog, 'readPlans'>
  sessions: Pick<Sessions, 'assertSessionActive'>
  buyCredits: BuyCredits
  payments: Pick<PaymentStore, 'getWalletStatus'>
  ledger: Pick<Ledger, 'getBalances'>
  inFlight: CallsInFlight
  requirePlanPayment: RequirePlanPayment
}) {
  const { catalog, sessions, buyCredits, payments, ledger, inFlight, requirePlanPayment } = parts

  return async (request: PurchaseRequest, response: PaymentResponse): Promise<Bought | undefined> => {
    const { wallet } = request.session
    inFlight.enter(wallet, PURCHASES)
    try {
      return await buy(request, response)
    } finally {
      inFlight.leave(wallet, PURCHASES)
    }
  }

  async function buy(
    { session, payment, client, resource }: PurchaseRequest,
    response: PaymentResponse,
  ): Promise<Bought | undefined> {
    const plan = await getSessionPlan(catalog, session)
    await sessions.assertSessionActive(session)
    const purchase = payment && (await buyCredits({ session, ...client, resource }, plan, payment))
    if (purchase) response.setHeaders(purchase.receipt)
    if (purchase?.outcome === 'paid') return boughtBy(session, purchase.payment)

    await assertNothingOpen(session)
    return requirePlanPayment(response, { plan, resource, purchase, call: undefined })
  }

  async function boughtBy({ wallet }: Session, payment: PaymentRecord): Promise<Bought> {
    const balances = await ledger.getBalances(wallet)
    return { payment, remaining: balances.find(({ planId }) => planId === payment.planId)?.balance ?? 0n }
  }

  async function assertNothingOpen({ wallet, planId }: Session) {
    const { isPaying, disputed } = await payments.getWalletStatus(wallet, planId)
    if (isPaying) throw pendingPayment()
    if (disputed !== null) throw disputedPayment(disputed)
  }
}
