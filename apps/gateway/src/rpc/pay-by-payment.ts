import { families, isPayersTransaction } from '@tollgate/chains'
import { caip2 } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Charge } from '../accounts/call-charges'
import { type Ledger } from '../accounts/ledger'
import { type Catalog, type Plan } from '../catalog/catalog'
import { isPresenter, type BuyCredits, type Buyer } from '../payments/buy-credits'
import { disputedPayment, facilitatorBusy } from '../payments/payment-errors'
import { listingOf } from '../extensions/bazaar'
import { type OfferSigner } from '../extensions/offer-receipt'
import { assertRepeat } from '../extensions/payment-identifier'
import { type IdentifiedPayments } from '../payments/identified-payments'
import { type PaymentHeader } from '../payments/payment-header'
import { type PaymentRecord } from '../payments/payment-record'
import { receiptOf } from '../payments/receipt'
import { isNetworkOf, problemOf, type Problem } from '../payments/requirements'
import { findMissedPlan, selectPlan } from '../payments/select-plan'
import { type PaymentStore } from '../payments/store'
import { setTimeout as delay } from 'node:timers/promises'
import { chargeOf, spend as spendCredits, type Price } from './charge'
import { type CallRequest, type CallResponse, type PaidFor } from './call'
import { type RequirePaymentChoice } from './payment-choice'
import { identityOf, isProven, type Identity } from './payment-identity'
import { type Answer } from './upstream/upstream-exchange'

type Dependencies = {
  catalog: Catalog
  buyCredits: BuyCredits
  payments: Pick<PaymentStore, 'find' | 'findByAuthorization' | 'getWalletStatus'>
  identified: IdentifiedPayments
  offerSigner: OfferSigner | undefined
  ledger: Ledger
  requirePaymentChoice: RequirePaymentChoice
  publicUrl: string
  now: () => Date
}

type Ways = Price & { payment: PaymentHeader }

/** How long a call waits for another one that the same payment serves, and may give it back. */
const MAX_WAIT_MS = 1_000
const POLL_INTERVAL_MS = 100

export type PayByPayment = ReturnType<typeof createPayByPayment>

/**
 * Has the payment settled and credited to its payer, and spends it on this call. A payment serves one call: presented again by
 * the same client it serves the call that failed or whose answer was lost, and is refused once it has served one; with a payment
 * identifier it gets the answer of that call again (`answered`).
 *
 * @throws ApiError PAYMENT_PENDING while the payment, or the call that it serves, has no outcome yet; CONFLICT for a payment
 *   identifier that was used for another request or payment
 */
export function createPayByPayment(dependencies: Dependencies) {
  const {
    catalog,
    buyCredits,
    payments,
    identified,
    offerSigner,
    ledger,
    requirePaymentChoice,
    publicUrl,
    now,
  } = dependencies

  return async (
    request: CallRequest,
    response: CallResponse,
    { route, cost, payment }: Ways,
  ): Promise<PaidFor | 'answered' | undefined> => {
    const chosen = await choosePlan(payment)
    if (!chosen) return requirePaymentChoice(request, response, PAYS_NO_PLAN)
    const { plan, credits, recorded } = chosen
    assertPaymentCovers({ id: plan.id, credits }, cost)
    const identity = identityOf(request, plan, payment)
    const { resource, span: requestSpan } = request
    const buyer: Buyer = {
      session: undefined,
      ...request.client(),
      resource,
      listing: listingOf(request.call, publicUrl),
      identifier: identity,
      span: requestSpan,
    }
    const proof = { plan, payment, buyer, now: now() }
    if (identity && isProven(recorded, proof)) {
      const { payer, id, fingerprint } = identity
      assertRepeat(id, fingerprint, await identified.findFingerprint(payer, id))
    }
    const purchase = await buy(request, response, { buyer, plan, payment })
    if (!purchase) return undefined
    const { span } = purchase

    const isIdentified = identity !== undefined && isProven(purchase.payment, proof)
    if (isIdentified) await remember(identity, purchase.payment)
    const problem = await spend(purchase.payment)
    if ('spent' in problem) {
      response.setHeaders(purchase.receipt)
      return problem
    }
    const again = isIdentified ? await identified.findAnswer(identity.payer, identity.id) : undefined
    if (again) {
      response.setHeaders(purchase.receipt)
      await response.send(again)
      return 'answered'
    }
    response.setHeaders(refusalReceipt(plan, purchase.payment))
    return requirePaymentChoice(request, response, problem)

    /** Another call with this payment may take it or give it back at any time: what was read of it decides nothing. */
    async function spend(record: PaymentRecord): Promise<PaidFor | Problem> {
      const { id, wallet, planId } = record
      const authority = { kind: 'payment', id } as const
      const charge = chargeOf(request.call, { authority, wallet, planId }, { route, cost })
      const deadline = performance.now() + MAX_WAIT_MS
      for (let latest: PaymentRecord | undefined = record; ; latest = await payments.find(id)) {
        const problem = latest ? problemOfCall(latest, buyer) : ALREADY_SERVED
        if (problem) return problem
        if (latest?.callState === 'open') {
          const spent = await spendCredits(ledger, charge, span)
          if (spent.outcome === 'paid')
            return {
              wallet,
              cost,
              spent,
              span,
              isRepeatable: true,
              onAnswer: (answer) => finish(record, answer),
            }
          if (spent.outcome === 'insufficient' && (await isSpent(charge))) return SPENT_ELSEWHERE
        }
        if (performance.now() >= deadline || response.hasLeft()) throw beingServed()
        await delay(POLL_INTERVAL_MS)
      }
    }

    async function isSpent({ wallet, planId }: Charge): Promise<boolean> {
      return (await payments.getWalletStatus(wallet, planId)).balance < BigInt(cost)
    }

    function finish({ payer, transaction, blockNumber, createdAt }: PaymentRecord, answer: Answer) {
      if (identity) void identified.storeAnswer(payer, identity.id, answer)
      if (!offerSigner) return {}
      const signed = offerSigner.receipt({ resourceUrl: request.resource, network: caip2(plan), payer })
      const settled = { success: true, transaction: transaction ?? '', blockNumber: Number(blockNumber ?? 0) }
      return receiptOf(plan, { payer, createdAt, ...settled }, signed)
    }
  }

  /**
   * A payment pays for what it was recorded for, whatever the catalog has sold since: it must not be asked for again. One that is
   * not recorded yet pays a plan on sale.
   */
  async function choosePlan(
    payment: PaymentHeader,
  ): Promise<(Pick<Plan, 'credits'> & { plan: Plan; recorded: PaymentRecord | undefined }) | undefined> {
    const plans = (await catalog.readPlans()).list
    const selected = selectPlan(plans, payment, now())
    const recorded = await findRecorded(selected, plans, payment)
    if (!recorded) {
      const plan = selected ?? findMissedPlan(plans, payment)
      return plan?.active ? { plan, credits: plan.credits, recorded } : undefined
    }
    const plan = plans.find(({ id }) => id === recorded.planId) ?? selected
    return plan && { plan, credits: recorded.credits, recorded }
  }

  /** Undefined if the payment is refused, and the call answered with 402. @throws ApiError PAYMENT_PENDING */
  async function buy(
    request: CallRequest,
    response: CallResponse,
    { buyer, plan, payment }: { buyer: Buyer; plan: Plan; payment: PaymentHeader },
  ) {
    const purchase = await buyCredits(buyer, plan, payment)
    if (purchase.outcome === 'paid') return purchase
    if (purchase.outcome === 'disputed') {
      response.setHeaders(purchase.receipt)
      throw disputedPayment(purchase.id)
    }
    if (purchase.reason === 'fee_allowance_exceeded') throw facilitatorBusy()
    response.setHeaders(purchase.receipt)
    return requirePaymentChoice(request, response, problemOf(purchase.reason, purchase.detail, plan))
  }

  /** Also under other assets than the selected plan's: terms that fit do not tell which asset a contract or an expired key paid. */
  async function findRecorded(
    selected: Plan | undefined,
    plans: readonly Plan[],
    { payload, network, accepted }: PaymentHeader,
  ) {
    const named = accepted?.network ?? network
    for (const plan of onePerAsset(selected ? [selected, ...plans] : plans)) {
      if (named !== undefined && !isNetworkOf(plan, named)) continue
      const signed = families[plan.ecosystem]?.readPayment(payload)
      if (!signed) continue
      const { payer, nonce } = signed
      const isOfAccount = isPayersTransaction(signed)
      const record = await payments.findByAuthorization({ plan, payer, nonce })
      // The payer of a refused transaction signs the next one under the same sequence, and maybe for another plan.
      if (record && !(isOfAccount && record.status === 'failed')) return record
      // Another chain may know the same sequence.
      if (isOfAccount && plan === selected) return undefined
    }
    return undefined
  }

  /** A payment that was credited for a request without one gets its identifier now. @throws ApiError CONFLICT */
  async function remember({ payer, id, fingerprint }: Identity, { id: paymentId }: PaymentRecord) {
    const known = await identified.remember({ payer, id, fingerprint, paymentId })
    assertRepeat(id, fingerprint, known ?? 'of another identifier')
  }
}

const onePerAsset = (plans: readonly Plan[]) =>
  plans.filter(
    ({ chainId, asset }, index) =>
      index === plans.findIndex((plan) => plan.chainId === chainId && plan.asset === asset),
  )

/** A header in the hands of somebody else spends no more than it bought. */
function assertPaymentCovers({ credits, id }: Pick<Plan, 'credits' | 'id'>, cost: number) {
  if (cost > credits)
    throw new ApiError(
      'INVALID_REQUEST',
      `This call costs ${cost} credits and one payment of plan ${id} buys ${credits}; nothing was charged, so send smaller batches`,
    )
}

const beingServed = () =>
  new ApiError(
    'PAYMENT_PENDING',
    'The call of this payment is being served; send the same request with the same payment again to learn its outcome, and do not pay a second time',
    { retryAfterSeconds: 2 },
  )

/** Why a settled payment serves no call any more; undefined if it may serve one. */
function problemOfCall(payment: PaymentRecord, buyer: Buyer): Problem | undefined {
  if (payment.arrived) return HAD_ARRIVED
  return payment.callState === 'served' || !isPresenter(payment, buyer) ? ALREADY_SERVED : undefined
}

const refusalReceipt = (plan: Plan, { payer, transaction, createdAt }: PaymentRecord) =>
  receiptOf(plan, {
    payer,
    createdAt,
    errorReason: ALREADY_SERVED.reason,
    ...(transaction === null ? {} : { transaction }),
  })

const ALREADY_SERVED: Problem = {
  reason: 'duplicate_settlement',
  message:
    'This payment has been used: it serves one call, of the client that presented it first. Its other credits belong to its payer, who spends them after a sign-in',
}

const HAD_ARRIVED: Problem = {
  reason: 'duplicate_settlement',
  message:
    'This payment was on the chain before it was presented, where anyone can read it, so it serves no call without a sign-in. It is credited to its payer, who spends it after a sign-in or with an access key: do not pay again',
}

const SPENT_ELSEWHERE: Problem = {
  reason: 'duplicate_settlement',
  message: 'The credits of this payment have been spent in a session of its payer',
}

const PAYS_NO_PLAN: Problem = {
  reason: 'invalid_payment_requirements',
  message: 'The payment fits no plan on sale: sign one for an entry of `accepts`; nothing was charged',
}
