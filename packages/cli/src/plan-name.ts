import { type Plan } from '@tollgate/wallet'

/** Its credits were given by the gateway. No list of plans has it. */
const FREE_PLAN_ID = 0

export const planName = (plans: readonly Plan[], id: number): string =>
  id === FREE_PLAN_ID ? '(free)' : (plans.find((plan) => plan.id === id)?.plan_name ?? '(no longer sold)')
