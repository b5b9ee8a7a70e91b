import type { ReasonCode } from '@tollgate/protocol'
import type { Refusal } from './family'

/** One thing that must hold: why it does not, or nothing. */
export type Check<C> = (question: C) => Refusal | undefined

export const refuse = (reason: ReasonCode, detail: string): Refusal => ({ reason, detail })

/** Whether a later state of the chain might say otherwise: a payer was funded, or another of its transactions mined. */
export const isOfState = (answer: object | undefined): boolean =>
  answer !== undefined &&
  'reason' in answer &&
  (answer.reason === 'insufficient_funds' || answer.reason === 'invalid_transaction_state')
/** A refusal for good: the nonce of the payment is taken. */
export const refuseSpent = (detail: string): Refusal => ({
  ...refuse('invalid_transaction_state', detail),
  isSpent: true,
})

/** The first refusal among the checks, in their order. */
export function firstRefusal<C>(checks: readonly Check<C>[], question: C): Refusal | undefined {
  for (const check of checks) {
    const refusal = check(question)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** Checks as one: those that need no network, then a look at the chain, then those of what it says. */
export const verifier =
  <C extends object, F>(parts: {
    offlineChecks: readonly Check<C>[]
    askFacts(question: C): Promise<F>
    chainChecks: readonly Check<C & { facts: F }>[]
  }): ((question: C) => Promise<Refusal | undefined>) =>
  async (question) =>
    firstRefusal(parts.offlineChecks, question) ??
    firstRefusal(parts.chainChecks, { ...question, facts: await parts.askFacts(question) })
