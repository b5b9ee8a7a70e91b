import { dependsOnState as reasonDependsOnState, tokenAmount, type ReasonCode } from '@tollgate/protocol'
import type { Refusal, Terms } from './family'

/** Returns why the payment is refused, or undefined. */
export type Check<C> = (context: C) => Refusal | undefined

export const refuse = (reason: ReasonCode, detail: string): Refusal => ({ reason, detail })

/** Whether a later state of the chain could give another result: the payer gets funds, or its earlier transaction is mined. */
export const dependsOnState = (result: { reason: ReasonCode } | object | undefined): boolean =>
  result !== undefined && 'reason' in result && reasonDependsOnState(result.reason)

/** `signed`: in smallest units. */
export const otherAmount = (signed: bigint, { amount, token }: Terms): string =>
  `the payer signed ${tokenAmount(signed, token)}, and exactly ${tokenAmount(amount, token)} is required`

export const refuseSpent = (detail: string): Refusal => ({
  ...refuse('invalid_transaction_state', detail),
  isSpent: true,
})

export function firstRefusal<C>(checks: readonly Check<C>[], context: C): Refusal | undefined {
  for (const check of checks) {
    const refusal = check(context)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** Runs the offline checks, then reads the chain's state, then runs the checks of that state. */
export const createVerifier =
  <C extends object, S>(parts: {
    offlineChecks: readonly Check<C>[]
    readChainState(context: C): Promise<S>
    chainChecks: readonly Check<C & { chainState: S }>[]
  }): ((context: C) => Promise<Refusal | undefined>) =>
  async (context) =>
    firstRefusal(parts.offlineChecks, context) ??
    firstRefusal(parts.chainChecks, { ...context, chainState: await parts.readChainState(context) })
