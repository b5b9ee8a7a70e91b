import { type PaymentStep, type SettlementDetails, type SettlementTransaction } from '@tollgate/protocol'
import { type PaymentStatus } from './payment-record'

type Known = {
  status: PaymentStatus
  transaction: string | null
  errorReason: string | null
  isReversed: boolean
}

export type FoundSettlement = Pick<
  SettlementDetails,
  'state' | 'reason' | 'transaction' | 'confirmations' | 'requiredConfirmations'
> & { transactions: Pick<SettlementTransaction, 'acceptedAt' | 'block'>[] }

type PaymentProgress = {
  step: PaymentStep
  transaction: string | null
  confirmations: number | null
  required_confirmations: number | null
  /** What the payer does. Null if there is nothing to do. */
  next: string | null
}

/** How far a payment is: what the gateway knows, and what the facilitator adds if it answered. */
export function progressOf(payment: Known, settlement: FoundSettlement | undefined): PaymentProgress {
  return {
    ...stepOf(payment, settlement),
    transaction: payment.transaction ?? settlement?.transaction ?? null,
    confirmations: settlement?.confirmations ?? null,
    required_confirmations: settlement?.requiredConfirmations ?? null,
  }
}

type Step = Pick<PaymentProgress, 'step' | 'next'>

function stepOf(payment: Known, settlement: FoundSettlement | undefined): Step {
  const { status, errorReason, isReversed } = payment
  if (status === 'credited') return { step: 'credited', next: isReversed ? REVERSED : null }
  if (status === 'settled') return { step: 'confirmed', next: CREDITS_FOLLOW }
  if (status === 'disputed') return { step: 'pending', next: DISPUTED }
  if (status === 'failed') return { step: 'failed', next: adviceFor(errorReason) }
  if (status === 'received')
    return { step: 'signed', next: waitFor('the gateway sends the payment in a moment') }
  return (settlement && settlingStepOf(settlement)) ?? unseenStepOf(payment)
}

/** Undefined if the facilitator knows no more than the gateway. */
function settlingStepOf(settlement: FoundSettlement): Step | undefined {
  const { state, reason, confirmations, requiredConfirmations: required, transactions } = settlement
  if (state === 'settled') return { step: 'confirmed', next: CREDITS_FOLLOW }
  // It is final: no chain takes an expired payment, whatever request is still open.
  if (state === 'failed' && reason !== null && EXPIRY.has(reason)) return { step: 'failed', next: EXPIRED }
  if (state === 'failed') return { step: 'pending', next: waitFor('the outcome is being recorded') }
  if (state === 'reversed')
    return { step: 'pending', next: waitFor('the network dropped the transaction, and it is sent again') }
  const wasSent = transactions.some(({ acceptedAt, block }) => acceptedAt !== null || block !== null)
  if (!wasSent) return undefined
  if (confirmations === null || required === null) return { step: 'broadcast', next: UNCONFIRMED }
  return {
    step: 'broadcast',
    next: waitFor(`the transaction has ${confirmations} of ${required} confirmations`),
  }
}

function unseenStepOf({ transaction, errorReason }: Known): Step {
  if (transaction !== null) return { step: 'broadcast', next: UNCONFIRMED }
  if (errorReason === null) return { step: 'signed', next: waitFor('the payment is being settled') }
  return {
    step: 'pending',
    next: waitFor(delays[errorReason] ?? 'the outcome of the payment is not known yet'),
  }
}

const waitFor = (reason: string) => `Wait: ${reason}; do not sign again.`
const UNCONFIRMED = waitFor('the network has not confirmed the transaction yet')
const CREDITS_FOLLOW = waitFor('the payment is settled, and its credits follow in a moment')
const REVERSED =
  'Nothing: a reorganization of the chain undid this payment, so the amount is with the account that paid. The credits stay; the operator may ask you to pay again.'
const DISPUTED =
  'Do not pay again: the token moved another amount than you signed. Ask the operator, and name the id of this payment.'

const delays: Record<string, string> = {
  facilitator_unavailable:
    'the facilitator does not answer, and the gateway asks it again until it knows the outcome',
  facilitator_busy: 'many payments are being settled, and this one is sent as soon as possible',
}

const NOT_TAKEN = 'The amount was not taken.'
const EXPIRED = `${NOT_TAKEN} The signature expired before the payment could be settled: sign a new payment.`
const EXPIRY: ReadonlySet<string> = new Set([
  'invalid_exact_evm_payload_authorization_valid_before',
  'payment_expired',
])
const advice: Record<string, string> = {
  insufficient_funds: `${NOT_TAKEN} Add funds to the account that pays, then buy again.`,
  invalid_exact_evm_payload_authorization_valid_after: `${NOT_TAKEN} The signature is not valid yet: check the clock of your device, then sign a new payment.`,
  invalid_exact_evm_payload_authorization_valid_before: EXPIRED,
  payment_expired: EXPIRED,
  invalid_exact_evm_payload_signature: `${NOT_TAKEN} The signature is not the payer’s: sign a new payment with the wallet that pays.`,
  invalid_exact_evm_payload_undeployed_smart_wallet: `${NOT_TAKEN} The smart wallet is not deployed on this network: deploy it, or pay with another wallet.`,
  invalid_transaction_state: `${NOT_TAKEN} The network refused the payment, for example because its authorization was used or cancelled: check the wallet, then sign a new payment.`,
  fee_allowance_exceeded: `${NOT_TAKEN} The seller can pay no more network fees today: buy again later.`,
  duplicate_settlement:
    'This authorization was used before. Look for its purchase in the list of payments before you sign another payment.',
  transfer_event_mismatch:
    'The operator closed this payment without credits. Ask the operator before you pay again.',
}

const adviceFor = (reason: string | null) =>
  (reason !== null && Object.hasOwn(advice, reason) ? advice[reason] : undefined) ??
  `${NOT_TAKEN} Sign a new payment to buy.`
