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

/** How far this browser is: `sent` once the payment has left it, even if no answer came. */
export type Stage = 'sign-in' | 'sign' | 'signed' | 'sent'

export const isSignedAt = (stage: Stage): boolean => stage === 'signed' || stage === 'sent'

/** What the page knows of a purchase under way. */
export type PurchaseView = {
  stage: Stage
  payment: PaymentProgress | undefined
  outcome: 'open' | 'bought' | 'failed'
}

/** A payment is broadcast once the gateway names a transaction, or says that it was sent. */
const reachedBy: Record<PaymentProgress['step'], PurchaseStep> = {
  signed: 'broadcast',
  pending: 'broadcast',
  broadcast: 'confirm',
  confirmed: 'credit',
  credited: 'credit',
  failed: 'broadcast',
}

const reachedHere: Record<Stage, PurchaseStep> = {
  'sign-in': 'sign-in',
  sign: 'sign',
  signed: 'broadcast',
  sent: 'broadcast',
}

/** The first step that is not done. */
function currentStep({ stage, payment }: PurchaseView): PurchaseStep {
  if (!payment) return reachedHere[stage]
  const reached = reachedBy[payment.step]
  return reached === 'broadcast' && payment.transaction !== null ? 'confirm' : reached
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
