import { type CreditBalance, type Tollgate, type UsageRecord } from '@tollgate/wallet'

/** `calls`: the newest, the newest first. */
export type Account = { balances: CreditBalance[]; calls: UsageRecord[] }

export type Change =
  | { event: 'credits'; plan_id: number; credits: number; before: number | null }
  | { event: 'call'; call: UsageRecord }

const isGoingOn = ({ outcome }: UsageRecord) => outcome === 'reserved'

const FIRST_CALLS = 10
const PAGE_SIZE = 100

/** All calls that `before` has not, or has as going on, in any number; without it the newest ones. */
export async function readAccount(tollgate: Tollgate, before: Account | undefined): Promise<Account> {
  const balances = await tollgate.credits()
  const knownId = before?.calls.findLast(isGoingOn)?.id ?? before?.calls[0]?.id
  const first = await tollgate.history({ limit: before === undefined ? FIRST_CALLS : PAGE_SIZE })
  const calls = [...first.data]
  const isComplete = () => knownId === undefined || calls.some(({ id }) => id <= knownId)
  for (let last = calls.at(-1); !isComplete() && last;) {
    const page = await tollgate.history({ limit: PAGE_SIZE, before: last.id })
    calls.push(...page.data)
    last = page.data.at(-1)
  }
  return { balances, calls }
}

/** Calls that ended, in the order of their beginning, then the balances that changed; at first the balances alone. */
export function changesBetween(before: Account | undefined, now: Account): Change[] {
  const leftOf = (account: Account | undefined, plan: number) =>
    account?.balances.find(({ pricing_plan_id }) => pricing_plan_id === plan)?.remaining_credits ?? null
  const credits = now.balances.flatMap(({ pricing_plan_id: plan, remaining_credits: left }): Change[] => {
    const earlier = leftOf(before, plan)
    return earlier === left ? [] : [{ event: 'credits', plan_id: plan, credits: left, before: earlier }]
  })
  if (!before) return credits
  const newest = before.calls[0]?.id ?? 0
  const wasGoingOn = ({ id }: UsageRecord) => before.calls.some((call) => call.id === id && isGoingOn(call))
  const calls = now.calls
    .filter((call) => !isGoingOn(call) && (call.id > newest || wasGoingOn(call)))
    .reverse()
    .map((call): Change => ({ event: 'call', call }))
  return [...calls, ...credits]
}
