import { type PaymentRecord } from '@tollgate/wallet'

/** `GET /payments/:wallet/:id` */
export type PaymentProgress = PaymentRecord & {
  step: 'signed' | 'broadcast' | 'confirmed' | 'credited' | 'pending' | 'failed'
  confirmations: number | null
  required_confirmations: number | null
  /** What to do, in words. */
  next: string | null
}

const purchaseSteps = ['sign-in', 'sign', 'broadcast', 'confirm', 'credit'] as const
export type PurchaseStep = (typeof purchaseSteps)[number]

export type StepState = 'done' | 'active' | 'waiting' | 'failed'

/** What the page knows of a purchase under way. */
export type PurchaseView = {
  /** The wallet has been asked for the payment, so the sign-in is done. */
  isPriced: boolean
  isSigned: boolean
  payment: PaymentProgress | undefined
  outcome: 'open' | 'bought' | 'failed'
}

const reachedBy: Record<PaymentProgress['step'], PurchaseStep> = {
  signed: 'broadcast',
  pending: 'confirm',
  broadcast: 'confirm',
  confirmed: 'credit',
  credited: 'credit',
  failed: 'broadcast',
}

/** The first step that is not done. */
function currentStep({ isPriced, isSigned, payment }: PurchaseView): PurchaseStep {
  if (payment) {
    const isOnChain = payment.step === 'failed' && payment.transaction !== null
    return isOnChain ? 'confirm' : reachedBy[payment.step]
  }
  if (isSigned) return 'broadcast'
  return isPriced ? 'sign' : 'sign-in'
}

export function stepsOf(view: PurchaseView): { step: PurchaseStep; state: StepState }[] {
  const current = purchaseSteps.indexOf(currentStep(view))
  return purchaseSteps.map((step, at) => ({ step, state: stateAt(at, current, view.outcome) }))
}

function stateAt(at: number, current: number, outcome: PurchaseView['outcome']): StepState {
  if (outcome === 'bought' || at < current) return 'done'
  if (at > current) return 'waiting'
  return outcome === 'failed' ? 'failed' : 'active'
}
