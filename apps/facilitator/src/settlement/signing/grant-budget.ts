import { type Refusal } from '@tollgate/chains'
import { feeLimitsOf, type DefaultShares, type Spender } from './fee-allowance'

/**
 * Fee grants of 24 hours for payments of one client key, or fees that our signature pays (not `isGrant`), without those that their
 * payment used. The two are counted apart, so wasted grants leave room for payments that our signer signs too. A payer is unproven while it has no
 * more settled payments of the user than wasted grants.
 */
export type UnusedGrants = {
  clientId: string
  userId: number
  isGrant: boolean
  isUnproven: boolean
  /** The payment may still settle; if not, the grants are wasted. */
  isPending: boolean
  payments: number
  /** Includes the grants' own fees; the native smallest unit. */
  fees: bigint
}

/** One grant or fee, before it is signed. `cost`: what it adds to the maximum fee. */
export type GrantRequest = Pick<UnusedGrants, 'isGrant' | 'isUnproven'> & { spender: Spender; cost: bigint }

/** The grant may fit once payments that hold the room have settled. */
export type Wait = { waitsFor: string }

type Part = { bps: bigint; payments: number; of: string }
type Sum = { fees: bigint; payments: number }

/**
 * Unused grants may come to this part of what the user and the client key may spend, and always to this many payments. They limit
 * a loss, not honest use: a payment that settles gives the room back.
 */
const OF_ALL: Part = { bps: 2_000n, payments: 6, of: 'payers' }
const OF_UNPROVEN: Part = { bps: 500n, payments: 3, of: 'payers that have settled nothing before' }
const WHOLE_BPS = 10_000n

/** Limits what a user or a client key can lose to payers that outrun their own payments; others keep their room. */
export function createGrantBudget(
  dailyLimit: bigint | undefined,
  shares: DefaultShares,
  unused: readonly UnusedGrants[],
) {
  const sums = new Map<string, Sum>()
  const sumOf = (name: string): Sum => sums.get(name) ?? { fees: 0n, payments: 0 }
  const add = (name: string, { fees, payments }: Sum) => {
    const sum = sumOf(name)
    sums.set(name, { fees: sum.fees + fees, payments: sum.payments + payments })
  }
  for (const row of unused)
    for (const account of [keyName(row), userName(row)])
      for (const part of partsOf(row)) add(sumName(account, part, row), row)

  /** The sums that the grant counts for, each with the most that it may come to. */
  function limitsOf({ spender, ...request }: GrantRequest) {
    const { clientKey, user } = feeLimitsOf(spender, dailyLimit, shares)
    const accounts = [
      { account: keyName(spender), whole: clientKey ?? dailyLimit },
      { account: userName(spender), whole: user ?? dailyLimit },
    ]
    return accounts.flatMap(({ account, whole }) =>
      whole === undefined
        ? []
        : partsOf(request).map((part) => ({ account, part, limit: (whole * part.bps) / WHOLE_BPS })),
    )
  }

  function count(request: GrantRequest, { fees, payments }: Sum): void {
    for (const { account, part } of limitsOf(request))
      add(sumName(account, part, { ...request, isPending: true }), { fees, payments })
  }

  return {
    /** Undefined if the grant fits. */
    findProblem(request: GrantRequest): Refusal | Wait | undefined {
      let wait: Wait | undefined
      for (const { account, part, limit } of limitsOf(request)) {
        const isOver = ({ fees, payments }: Sum) =>
          fees + request.cost > limit && payments + 1 > part.payments
        const wasted = sumOf(sumName(account, part, { ...request, isPending: false }))
        const pending = sumOf(sumName(account, part, { ...request, isPending: true }))
        const whose = `${part.of} of ${account}`
        if (isOver(wasted)) {
          const detail = `grants of ${wasted.fees} to ${whose} settled nothing within a day; they may come to ${limit}, in the smallest native unit`
          return { reason: 'fee_allowance_exceeded', detail }
        }
        if (isOver({ fees: wasted.fees + pending.fees, payments: wasted.payments + pending.payments }))
          wait ??= {
            waitsFor: `waits for payments of other ${whose}, which have grants of ${pending.fees}, in the smallest native unit`,
          }
      }
      return wait
    },

    take: (request: GrantRequest) => count(request, { fees: request.cost, payments: 1 }),
    giveBack: (request: GrantRequest) => count(request, { fees: -request.cost, payments: -1 }),
  }
}

export const isWait = (problem: Refusal | Wait): problem is Wait => 'waitsFor' in problem

const keyName = ({ clientId }: { clientId: string }) => `the client key ${clientId}`
const userName = ({ userId }: { userId: number }) => `user ${userId}`
const partsOf = ({ isUnproven }: { isUnproven: boolean }): Part[] =>
  isUnproven ? [OF_UNPROVEN, OF_ALL] : [OF_ALL]
const sumName = (
  account: string,
  { of }: Part,
  { isPending, isGrant }: Pick<UnusedGrants, 'isPending' | 'isGrant'>,
) => `${account}: ${isPending ? 'pending' : 'wasted'} ${isGrant ? 'grants' : 'fees'} to ${of}`
