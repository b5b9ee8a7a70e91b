import { families, type Payment } from '@tollgate/chains'
import { type SettleRequest } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { setTimeout as delay } from 'node:timers/promises'
import { isPassing, isUndone } from '../accounts/refusal'
import { type Session } from '../auth/sessions'
import { type Plan } from '../catalog/catalog'
import { type Proof } from './proof'
import { codeOf, receiptOf, type Receipt } from './receipt'
import { isAskedBy, mustBeSold, requirementsOf } from './requirements'
import { type Settlement } from './settlement'
import { type PaymentRecord, type PaymentStore } from './store'

/** Of `refused` nothing was bought and `reason` says why, `detail` in words. */
export type Purchase =
  | { outcome: 'paid'; receipt: Receipt }
  | { outcome: 'refused'; reason: string; detail?: string; receipt: Receipt }

/** How long a call waits for a payment that another replica is settling. */
const MAX_WAIT_MS = 30_000
const LOOK_AGAIN_MS = 100
const RETRY_AFTER_SECONDS = 2

export type BuyCredits = ReturnType<typeof createBuyCredits>

/**
 * Buying credits: read the payment, write it down, have it settled, and credit it. The same proof again, at the same time
 * or later, is the same purchase and is charged once.
 *
 * @throws ApiError PAYMENT_PENDING while the outcome is not known, also where Postgres or the network failed on the way:
 *   never a fresh 402, on which a client would pay again
 */
export function createBuyCredits(parts: { store: PaymentStore; settlement: Settlement; resource: string }) {
  const { store, settlement, resource } = parts

  return async function buyCredits(session: Session, plan: Plan, proof: Proof): Promise<Purchase> {
    const payment = families[plan.ecosystem]?.readPayment(proof.payload)
    if (!payment)
      throw new ApiError('INVALID_REQUEST', `X-PAYMENT holds no payment for ${plan.ecosystem} plans`)
    const { payer } = payment
    const refused = (errorReason: string, reason = errorReason): Purchase => ({
      outcome: 'refused',
      reason,
      receipt: receiptOf(plan, { payer, errorReason }),
    })
    // Whoever sees a payment, in a header or on its chain, must buy nothing with it.
    if (payer !== session.wallet)
      return refused('invalid_payment', 'the payer is not the wallet that is signed in')

    const begun = await written(session, { plan, payment, proof }).catch((error: unknown) => {
      throw isUndone(error) && !isPassing(error) ? error : stillOpen(error)
    })
    if (begun === 'not_accepted') return refused('invalid_payment_requirements')
    const end = await outcome(settlement, begun.id).catch((error: unknown) => {
      throw stillOpen(error)
    })
    return purchaseOf(plan, end)
  }

  /** @throws ApiError NOT_FOUND for a new payment to a plan that is not sold any more */
  async function written(
    { wallet }: Session,
    { plan, payment, proof }: { plan: Plan; payment: Payment; proof: Proof },
  ): Promise<PaymentRecord | 'not_accepted'> {
    const { payer, nonce, transaction } = payment
    const authorization = { plan, payer, nonce }
    const known = await store.known(authorization)
    const isAnotherTry = known?.status === 'failed' && transaction !== undefined
    if (known && !isAnotherTry) return (await askedAgain(plan, known, payment)) ?? known
    mustBeSold(plan)
    if (proof.accepted && !isAskedBy(plan, proof.accepted)) return 'not_accepted'
    const received = { wallet, request: settleRequest(proof, plan, resource) }
    const record =
      (await (known
        ? store.tryAgain(known, authorization, received)
        : store.receive(authorization, received))) ?? (await store.known(authorization))
    if (!record) throw new Error('A payment that is there could not be read')
    return record
  }

  /** The cause of a refusal may be gone: a token was unpaused, funds have come. */
  async function askedAgain({ active }: Plan, { id, status }: PaymentRecord, { validUntil }: Payment) {
    return active && status === 'failed' && validUntil !== undefined
      ? store.askAgain(id, validUntil)
      : undefined
  }
}

const settleRequest = (proof: Proof, plan: Plan, resource: string): SettleRequest => ({
  x402Version: 1,
  paymentPayload: {
    x402Version: proof.x402Version ?? 1,
    scheme: proof.scheme ?? 'exact',
    network: proof.network ?? plan.network,
    payload: proof.payload,
  },
  paymentRequirements: requirementsOf(plan, resource),
})

/** Advances the payment, or waits while another replica does. */
async function outcome(settlement: Settlement, id: string): Promise<PaymentRecord> {
  const deadline = performance.now() + MAX_WAIT_MS
  let payment = await settlement.advance(id)
  while (isOpen(payment) && payment.errorReason === null && performance.now() < deadline) {
    await delay(LOOK_AGAIN_MS)
    payment = await settlement.advance(id)
  }
  return payment
}

const isOpen = ({ status }: PaymentRecord) =>
  status !== 'credited' && status !== 'failed' && status !== 'disputed'

function purchaseOf(plan: Plan, payment: PaymentRecord): Purchase {
  const { status, payer, network, transaction, blockNumber, createdAt } = payment
  const facts = { payer, network, createdAt }
  if (status === 'credited') {
    const settled = { transaction: transaction ?? '', blockNumber: Number(blockNumber ?? 0) }
    return { outcome: 'paid', receipt: receiptOf(plan, { ...facts, ...settled, success: true }) }
  }
  if (status !== 'failed' && status !== 'disputed') throw pendingPayment()
  const reason = payment.errorReason ?? 'invalid_payment'
  const { errorDetail, transaction: moved } = payment
  const detail = errorDetail === null ? {} : { detail: errorDetail }
  const receipt = receiptOf(plan, {
    ...facts,
    errorReason: codeOf(reason),
    ...(status === 'disputed' ? { transaction: moved ?? '' } : {}),
    ...(errorDetail === null ? {} : { errorMessage: errorDetail }),
  })
  return { outcome: 'refused', reason, ...detail, receipt }
}

export const pendingPayment = (cause?: unknown) =>
  new ApiError('PAYMENT_PENDING', PENDING, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause })

/** A wallet whose payment moved money otherwise than it was signed is not asked for another. */
export const disputedPayment = (id: string) =>
  new ApiError(
    'PAYMENT_DISPUTED',
    `The token moved something else than payment ${id} says, so nothing was credited; do not pay again, and ask the operator of this gateway to decide`,
  )

/** A payment that is written down, or may be, goes on whatever failed here: its money may be taken. */
const stillOpen = (error: unknown) => (error instanceof ApiError ? error : pendingPayment(error))

const PENDING =
  'The payment is being settled and its outcome is not known yet; send the same request with the same X-PAYMENT again, and do not pay a second time'
