import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import {
  AllowedMsgAllowance,
  BasicAllowance,
  PeriodicAllowance,
} from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import type { Any } from 'cosmjs-types/google/protobuf/any'
import type { Coin } from '../tx'

/** Smallest units by denomination; of what is not named nothing. */
type Limit = ReadonlyMap<string, bigint>

/** What an allowance of x/feegrant lets its grantee spend of its granter's money, whichever kind it is of. */
export type Allowance = {
  /** Each of them must cover a fee: that of all times, and that of a period. Without one any fee is covered. */
  limits: readonly Limit[]
  /** Unix seconds of chain time: in no block after it is the allowance good. */
  expiresAt?: bigint
  /** The type URLs of the messages that a transaction may have; all where it is undefined. */
  messages?: readonly string[]
}

/** A transaction is in a block some seconds after it was looked at: what lapses sooner is not counted on. */
const LAPSE_SECONDS = 30n

/** What cannot be read allows nothing that we could count on. */
const NOTHING: Allowance = { limits: [new Map()], messages: [] }

/** One within another is all that the SDK's own tools make. */
const MOST_DEPTH = 3

type Packed = Pick<Any, 'typeUrl' | 'value'>
type Coins = readonly { denom: string; amount: string }[]

const limitOf = (coins: Coins): Limit =>
  new Map(coins.map(({ denom, amount }) => [denom, /^[0-9]{1,78}$/.test(amount) ? BigInt(amount) : 0n]))

function basic({ spendLimit, expiration }: BasicAllowance): Allowance {
  return {
    // No coins are no limit (x/feegrant, BasicAllowance).
    limits: spendLimit.length === 0 ? [] : [limitOf(spendLimit)],
    ...(expiration && { expiresAt: expiration.seconds }),
  }
}

/** Sufficient before the period begins anew and after: nobody knows in which a block falls. */
function periodic(allowance: PeriodicAllowance): Allowance {
  const { limits, ...rest } = basic(allowance.basic)
  const { periodSpendLimit, periodCanSpend } = allowance
  return { ...rest, limits: [...limits, limitOf(periodSpendLimit), limitOf(periodCanSpend)] }
}

function allowedMessages({ allowance, allowedMessages }: AllowedMsgAllowance, depth: number): Allowance {
  if (allowance === undefined) return NOTHING
  const inner = unpack(allowance, depth + 1)
  const messages = allowedMessages.filter((message) => inner.messages?.includes(message) ?? true)
  return { ...inner, messages }
}

function unpack({ typeUrl, value }: Packed, depth: number): Allowance {
  if (depth > MOST_DEPTH) return NOTHING
  switch (typeUrl) {
    case BasicAllowance.typeUrl:
      return basic(BasicAllowance.decode(value))
    case PeriodicAllowance.typeUrl:
      return periodic(PeriodicAllowance.decode(value))
    case AllowedMsgAllowance.typeUrl:
      return allowedMessages(AllowedMsgAllowance.decode(value), depth)
    default:
      return NOTHING
  }
}

/**
 * Reads an allowance as a chain tells it. One of a kind that is not known, or that cannot be decoded, is read as one that
 * allows nothing: that there is one still matters, for a granter can have one at a time for each grantee.
 */
export function readAllowance(packed: Packed): Allowance {
  try {
    return unpack(packed, 1)
  } catch {
    return NOTHING
  }
}

/** The time of the newest block, and one that is no earlier and no earlier than ours: a chain may have stood still. Unix seconds. */
export type Clock = { blockTime: bigint; time: bigint }

/** Whether a transaction of one MsgSend may pay this fee by the allowance, in each block of the next seconds. */
export const suffices = (allowance: Allowance, fee: readonly Coin[], { time }: Clock): boolean =>
  (allowance.messages?.includes(MsgSend.typeUrl) ?? true) &&
  !isLapsed(allowance, time) &&
  allowance.limits.every((limit) => fee.every(({ denom, amount }) => (limit.get(denom) ?? 0n) >= amount))

/** Whether it may be gone in some seconds: until it is, nobody can tell whether there is anything to revoke. */
export const isLapsing = (allowance: Allowance, { blockTime, time }: Clock): boolean =>
  isLapsed(allowance, time) && (allowance.expiresAt ?? 0n) >= blockTime

export const isLapsed = ({ expiresAt }: Pick<Allowance, 'expiresAt'>, time: bigint): boolean =>
  expiresAt !== undefined && expiresAt <= time + LAPSE_SECONDS
