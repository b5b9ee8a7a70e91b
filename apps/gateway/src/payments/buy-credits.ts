import { families, type OfflineResult, type Payment } from '@tollgate/chains'
import { type SettleRequest } from '@tollgate/protocol'
import { ApiError, type Logger } from '@tollgate/service'
import { setTimeout as delay } from 'node:timers/promises'
import { isPassing, isUndone } from '../accounts/refusal'
import { type Session, type Sessions } from '../auth/sessions'
import { type Plan } from '../catalog/catalog'
import { type Admission } from './admission'
import { type Proof } from './proof'
import { codeOf, receiptOf, type Receipt } from './receipt'
import { isAskedBy, mustBeSold, requirementsOf, termsOf } from './requirements'
import { type Settlement } from './settlement'
import { type PaymentRecord, type PaymentStore } from './store'

/** Of `refused` nothing was bought and `reason` says why, `detail` in words. A `disputed` one waits for an operator. */
export type Purchase =
  | { outcome: 'paid'; receipt: Receipt }
  | { outcome: 'disputed'; id: string; receipt: Receipt }
  | { outcome: 'refused'; reason: string; detail?: string; receipt: Receipt }

/** Who sends a payment, and in which request. */
export type Buyer = { session: Session; address: string; requestId: string }

/** Why a payment is refused before it is stored. `detail` is for the log. */
type Refused = { refused: string; detail: string }

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
export function createBuyCredits(parts: {
  store: PaymentStore
  settlement: Settlement
  admission: Pick<Admission, 'admit'>
  sessions: Pick<Sessions, 'signedBy'>
  resource: string
  logger: Logger
}) {
  const { store, settlement, admission, sessions, resource, logger } = parts
  const beginning = new Map<string, Promise<PaymentRecord | Refused>>()

  return async function buyCredits(buyer: Buyer, plan: Plan, proof: Proof): Promise<Purchase> {
    const { session, requestId } = buyer
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

    const begun = await begin(buyer, { plan, payment, proof }).catch((error: unknown) => {
      throw isUndone(error) && !isPassing(error) ? error : stillOpen(error)
    })
    if ('refused' in begun) {
      const { refused: reason, detail } = begun
      logger.info('payment refused unasked', {
        requestId,
        wallet: session.wallet,
        planId: plan.id,
        reason,
        detail,
      })
      return refused(reason)
    }
    const end = await outcome(settlement, begun.id, requestId).catch((error: unknown) => {
      throw stillOpen(error)
    })
    return purchaseOf(plan, end)
  }

  /** One attempt for all calls that bring the same payment at once: it counts once against the limits of its wallet. */
  function begin(buyer: Buyer, purchase: { plan: Plan; payment: Payment; proof: Proof }) {
    const key = JSON.stringify([buyer.session.id, purchase.plan.id, purchase.proof])
    const begun = beginning.get(key) ?? written(buyer, purchase).finally(() => beginning.delete(key))
    beginning.set(key, begun)
    return begun
  }

  /** @throws ApiError NOT_FOUND for a new payment to a plan that is not sold any more */
  async function written(
    { session, address, requestId }: Buyer,
    { plan, payment, proof }: { plan: Plan; payment: Payment; proof: Proof },
  ): Promise<PaymentRecord | Refused> {
    const { wallet } = session
    const { payer, nonce, transaction } = payment
    const authorization = { plan, payer, nonce }
    const known = await store.known(authorization)
    const isAnotherTry = known?.status === 'failed' && transaction !== undefined
    const isAskedAgain = known && !isAnotherTry && (await mayBeAskedAgain(plan, known, payment))
    if (known && !isAnotherTry && !isAskedAgain) return known
    mustBeSold(plan)
    if (proof.accepted && !isAskedBy(plan, proof.accepted))
      return { refused: 'invalid_payment_requirements', detail: 'the payer accepted other terms' }
    const { now, ...applicant } = await store.applicant(wallet)
    const result = await check(session, plan, payment, now)
    if ('reason' in result) return { refused: result.reason, detail: result.detail }
    const isProven = result.signature === 'valid'
    await admission.admit({ wallet, address, isProven, ...applicant })
    const received = { wallet, request: settleRequest(proof, plan, resource) }
    if (isAskedAgain)
      return (
        (await store.askAgain(known.id, payment.validUntil ?? 0n)) ??
        (await store.known(authorization)) ??
        known
      )
    const stored = await (known
      ? store.tryAgain(known, authorization, received)
      : store.receive(authorization, received))
    if (stored)
      logger.info('payment received', {
        paymentId: stored.id,
        requestId,
        wallet,
        planId: plan.id,
        payer,
        nonce,
      })
    const record = stored ?? (await store.known(authorization))
    if (!record) throw new Error('A payment that is there could not be read')
    return record
  }

  /** The cause of a refusal may be gone: a token was unpaused, funds have come. */
  async function mayBeAskedAgain(plan: Plan, { id, status }: PaymentRecord, { validUntil }: Payment) {
    return plan.active && status === 'failed' && validUntil !== undefined && store.mayAskAgain(id, validUntil)
  }

  /**
   * The terms and, as far as that needs no chain, the signature. A contract may vouch for a signature that its key did not
   * make, and then it has vouched for the sign-in too: a wallet that signed in by its key pays by its key.
   */
  async function check(session: Session, plan: Plan, payment: Payment, now: Date): Promise<OfflineResult> {
    const family = families[plan.ecosystem]
    if (!family) throw new Error(`There is no chain family ${plan.ecosystem}`)
    const result = family.checkOffline(payment, termsOf(plan), { chainId: plan.chainId, now })
    if ('reason' in result || result.signature !== 'not-by-key') return result
    return (await sessions.signedBy(session)) === 'key' ? notSigned : result
  }
}

const notSigned: OfflineResult = {
  reason: 'invalid_exact_evm_payload_signature',
  detail: 'not signed by the key of the wallet, which signed in by its key',
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
async function outcome(settlement: Settlement, id: string, requestId: string): Promise<PaymentRecord> {
  const deadline = performance.now() + MAX_WAIT_MS
  let payment = await settlement.advance(id, requestId)
  while (isOpen(payment) && payment.errorReason === null && performance.now() < deadline) {
    await delay(LOOK_AGAIN_MS)
    payment = await settlement.advance(id, requestId)
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
  const { errorDetail } = payment
  const receipt = receiptOf(plan, {
    ...facts,
    errorReason: codeOf(reason),
    ...(transaction === null ? {} : { transaction }),
    ...(errorDetail === null ? {} : { errorMessage: errorDetail }),
  })
  if (status === 'disputed') return { outcome: 'disputed', id: payment.id, receipt }
  return { outcome: 'refused', reason, ...(errorDetail === null ? {} : { detail: errorDetail }), receipt }
}

export const pendingPayment = (cause?: unknown) =>
  new ApiError('PAYMENT_PENDING', PENDING, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause })

/** The facilitator takes no payment of this gateway just now, which is no fault of its payer. */
export const facilitatorBusy = () =>
  new ApiError(
    'OVERLOADED',
    'No payment can be settled just now; nothing was charged, so send the same request with the same X-PAYMENT again later',
    { retryAfterSeconds: 30 },
  )

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
