import { type Refusal } from '@tollgate/chains'

/**
 * A client key and its user, with the shares set by an operator; null: the default. `maxFeesPerDay`: the cap that its user gave the
 * key, on each network, in the native smallest unit; null: none.
 */
export type Spender = {
  clientId: string
  userId: number
  feeShareBps: number | null
  userFeeShareBps: number | null
  maxFeesPerDay: bigint | null
}

/** Fees for the payments of one client key in the last 24 hours; of pending ones the maximum. */
export type Spent = {
  clientId: string
  userId: number
  /** No operator has set the share of its user. */
  isNew: boolean
  fees: bigint
  cheapest: bigint
}

/** A client key's `part` of the maximum fee of a transaction. */
export type FeeShare = { clientId: string; payments: number; part: bigint }

/** Shares of a network's fees of 24 hours, in hundredths of a percent, where no operator has set one. */
export type DefaultShares = {
  clientKeyBps: number
  newUserBps: number
  /** Of all new users together: accounts are free, and one attacker can have many. */
  newUsersBps: number
}

type Account = { name: string; limit: bigint }

const WHOLE_BPS = 10_000

/** A network's daily fee limit; undefined: it has none, and shares of it limit nothing. */
type DailyLimit = bigint | undefined

/** In 24 hours; null: none. */
export type FeeLimits = { clientKey: bigint | null; user: bigint | null; newUsers: bigint | null }

/** `newUsers` limits only users whose share no operator has set. */
export function feeLimitsOf(
  {
    feeShareBps,
    userFeeShareBps,
    maxFeesPerDay,
  }: Pick<Spender, 'feeShareBps' | 'userFeeShareBps' | 'maxFeesPerDay'>,
  dailyLimit: DailyLimit,
  shares: DefaultShares,
): FeeLimits {
  const shareOf = (bps: number) =>
    dailyLimit === undefined || bps >= WHOLE_BPS ? null : (dailyLimit * BigInt(bps)) / BigInt(WHOLE_BPS)
  return {
    clientKey: least(shareOf(feeShareBps ?? shares.clientKeyBps), maxFeesPerDay),
    user: shareOf(userFeeShareBps ?? shares.newUserBps),
    newUsers: shareOf(shares.newUsersBps),
  }
}

/** The accounts that a payment counts for, without those that only the network's daily fee limit limits. */
function accountsOf(spender: Spender, dailyLimit: DailyLimit, shares: DefaultShares): Account[] {
  const { clientId, userId, userFeeShareBps } = spender
  const limits = feeLimitsOf(spender, dailyLimit, shares)
  const accounts = [
    { name: `the client key ${clientId}`, limit: limits.clientKey },
    { name: `user ${userId}`, limit: limits.user },
    ...(userFeeShareBps === null ? [{ name: NEW_USERS, limit: limits.newUsers }] : []),
  ]
  return accounts.flatMap(({ name, limit }) => (limit === null ? [] : [{ name, limit }]))
}
const NEW_USERS = 'all new users together'

/** Null is no limit. */
function least(one: bigint | null, other: bigint | null): bigint | null {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}

export const isLimited = (spender: Spender, dailyLimit: DailyLimit, shares: DefaultShares) =>
  accountsOf(spender, dailyLimit, shares).length > 0

/** Fees of each account in 24 hours, against its cap and its share of the network's `dailyLimit`. */
export function createFeeLedger(dailyLimit: DailyLimit, shares: DefaultShares, spent: readonly Spent[]) {
  const fees = new Map<string, bigint>()
  const add = (name: string, amount: bigint) => fees.set(name, (fees.get(name) ?? 0n) + amount)
  for (const row of spent) {
    add(`the client key ${row.clientId}`, row.fees)
    add(`user ${row.userId}`, row.fees)
    if (row.isNew) add(NEW_USERS, row.fees)
  }

  function refusalWhere(
    spender: Spender,
    isOver: (used: bigint, limit: bigint) => boolean,
  ): Refusal | undefined {
    for (const { name, limit } of accountsOf(spender, dailyLimit, shares)) {
      const used = fees.get(name) ?? 0n
      if (!isOver(used, limit)) continue
      const detail = `${name} has used ${used} of the ${limit} that its payments may cost in 24 hours, in the smallest native unit`
      return { reason: 'fee_allowance_exceeded', detail }
    }
    return undefined
  }

  return {
    /** Undefined if a payment of this cost fits. */
    findRefusal: (spender: Spender, cost: bigint) =>
      refusalWhere(spender, (used, limit) => used + cost > limit),

    /** Undefined if a payment as cheap as the cheapest of 24 hours fits. */
    findUsedUpRefusal: (spender: Spender) =>
      refusalWhere(spender, (used, limit) => used >= limit || (used > 0n && used + cheapest(spent) > limit)),

    take(spender: Spender, cost: bigint): void {
      for (const { name } of accountsOf(spender, dailyLimit, shares)) add(name, cost)
    },
  }
}

const cheapest = (spent: readonly Spent[]): bigint =>
  spent.reduce<bigint | undefined>(
    (least, row) => (least === undefined || row.cheapest < least ? row.cheapest : least),
    undefined,
  ) ?? 0n

/** Each payment's `part` of the maximum fee: the fee granted for it alone, and an equal part of the rest. */
export function splitMaxFee<T extends { sponsorship?: { fee: bigint } }>(
  batch: readonly T[],
  maxFee: bigint,
): (T & { part: bigint })[] {
  const rest = batch.reduce((left, { sponsorship }) => left - (sponsorship?.fee ?? 0n), maxFee)
  const count = BigInt(batch.length)
  const each = rest > 0n ? (rest + count - 1n) / count : 0n
  return batch.map((one) => ({ ...one, part: (one.sponsorship?.fee ?? 0n) + each }))
}

export function feeSharesByClient(parts: readonly { clientId: string; part: bigint }[]): FeeShare[] {
  const sums = new Map<string, FeeShare>()
  for (const { clientId, part } of parts) {
    const sum = sums.get(clientId) ?? { clientId, payments: 0, part: 0n }
    sums.set(clientId, { clientId, payments: sum.payments + 1, part: sum.part + part })
  }
  return [...sums.values()]
}
