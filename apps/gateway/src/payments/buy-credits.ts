import { families, type Payment } from '@tollgate/chains'
import { encodeJson, type SettleRequest, type SettleResult } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { setTimeout as delay } from 'node:timers/promises'
import { isPassing, isUndone } from '../accounts/refusal'
import { type Session } from '../auth/sessions'
import { type Plan } from '../catalog/catalog'
import { type Proof } from './proof'
import { mustBeSold, requirementsOf } from './requirements'
import { type Settlement } from './settlement'
import { type Authorization, type PaymentRecord, type PaymentStore } from './store'

/** `receipt` is the `X-PAYMENT-RESPONSE`. Of `refused` nothing was charged and `reason` says why. */
export type Purchase =
  { outcome: 'paid'; receipt: string } | { outcome: 'refused'; reason: string; receipt: string }

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
    if (!isPayer(session, plan, payment))
      return {
        outcome: 'refused',
        reason: 'the payer is not the wallet that is signed in',
        receipt: receiptOf({ payer: payment.payer, network: plan.network, errorReason: 'invalid_payment' }),
      }

    const authorization = { plan, payer: payment.payer, nonce: payment.nonce }
    const { id } = await written(session, authorization, proof).catch((error: unknown) => {
      throw isUndone(error) && !isPassing(error) ? error : stillOpen(error)
    })
    const end = await outcome(settlement, id).catch((error: unknown) => {
      throw stillOpen(error)
    })
    return purchaseOf(end)
  }

  /** @throws ApiError NOT_FOUND for a new payment to a plan that is not sold any more */
  async function written({ wallet }: Session, authorization: Authorization, proof: Proof) {
    const known = await store.known(authorization)
    if (known) return known
    const { plan } = authorization
    mustBeSold(plan)
    const request = settleRequest(proof, plan, resource)
    const payment =
      (await store.receive(authorization, { wallet, request })) ?? (await store.known(authorization))
    if (!payment) throw new Error('A payment that is there could not be read')
    return payment
  }
}

/** A payment header that was stolen must buy its thief nothing: where payer and session can be compared, they are. */
const isPayer = (session: Session, plan: Plan, payment: Payment) => {
  const sameEcosystem = (session.authMethod === 'siwe') === (plan.ecosystem === 'evm')
  return !sameEcosystem || payment.payer === session.wallet
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

const isOpen = ({ status }: PaymentRecord) => status !== 'credited' && status !== 'failed'

function purchaseOf(payment: PaymentRecord): Purchase {
  const { status, payer, network, transaction, blockNumber, createdAt } = payment
  if (status === 'credited') {
    const settled = { transaction: transaction ?? '', blockNumber: Number(blockNumber ?? 0) }
    return { outcome: 'paid', receipt: receiptOf({ success: true, payer, network, createdAt, ...settled }) }
  }
  if (status !== 'failed') throw pendingPayment()
  const reason = payment.errorReason ?? 'invalid_payment'
  return {
    outcome: 'refused',
    reason,
    receipt: receiptOf({
      payer,
      network,
      createdAt,
      errorReason: isCode.test(reason) ? reason : 'invalid_payment',
    }),
  }
}

/** A reason is the facilitator's word, and clients read the receipt's bytes as ASCII. */
const isCode = /^[a-z0-9_]{1,128}$/

export const pendingPayment = (cause?: unknown) =>
  new ApiError('PAYMENT_PENDING', PENDING, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause })

/** A payment that is written down, or may be, goes on whatever failed here: its money may be taken. */
const stillOpen = (error: unknown) => (error instanceof ApiError ? error : pendingPayment(error))

const PENDING =
  'The payment is being settled and its outcome is not known yet; send the same request with the same X-PAYMENT again, and do not pay a second time'

/** What x402 clients read in `X-PAYMENT-RESPONSE`: of a failure unless told otherwise. */
const receiptOf = ({
  createdAt = new Date(),
  ...facts
}: Partial<SettleResult> & { payer: string; network: string; createdAt?: Date }): string =>
  encodeJson({
    success: false,
    transaction: '',
    errorReason: '',
    blockNumber: 0,
    timestamp: createdAt.toISOString(),
    ...facts,
  } satisfies SettleResult)
