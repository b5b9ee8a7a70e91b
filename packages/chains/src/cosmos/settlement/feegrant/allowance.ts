import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import {
  AllowedMsgAllowance,
  BasicAllowance,
  PeriodicAllowance,
} from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import type { Any } from 'cosmjs-types/google/protobuf/any'
import type { Coin } from '../../signing/tx'

/** Smallest units by denomination; a missing denomination means 0. */
type Limit = ReadonlyMap<string, bigint>

/** An x/feegrant allowance of any kind. */
export type Allowance = {
  /** Each must cover the fee: the total limit, and those of a period. An empty list means no limit. */
  limits: readonly Limit[]
  /** Unix seconds of chain time; blocks after it refuse the allowance. */
  expiresAt?: bigint
  /** The type URLs of the allowed messages; undefined allows all. */
  messages?: readonly string[]
}

/** An allowance that expires sooner is not relied on, because a transaction needs seconds to be mined. */
const EXPIRY_MARGIN_SECONDS = 30n

/** The reading of an unknown or malformed allowance. */
const NOTHING: Allowance = { limits: [new Map()], messages: [] }

/** The SDK's own tools nest two at most. */
const MAX_DEPTH = 3

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

/** Must suffice both before and after the period is reset, because the block can fall in either. */
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
  if (depth > MAX_DEPTH) return NOTHING
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
 * An unknown or malformed allowance reads as one that allows nothing. It must still be revoked, because a granter can have
 * only one allowance per grantee.
 */
export function readAllowance(packed: Packed): Allowance {
  try {
    return unpack(packed, 1)
  } catch {
    return NOTHING
  }
}

/** Unix seconds: the time of the newest block, and the later of that and our own clock, because the chain may have stalled. */
export type Clock = { blockTime: bigint; time: bigint }

/** Whether the allowance covers this fee of a transaction with one MsgSend, and still will when it is mined. */
export const covers = (allowance: Allowance, fee: readonly Coin[], { time }: Clock): boolean =>
  (allowance.messages?.includes(MsgSend.typeUrl) ?? true) &&
  !isExpired(allowance, time) &&
  allowance.limits.every((limit) => fee.every(({ denom, amount }) => (limit.get(denom) ?? 0n) >= amount))

/** Whether the allowance expires within seconds, so that it is unknown if there is still something to revoke. */
export const isExpiring = (allowance: Allowance, { blockTime, time }: Clock): boolean =>
  isExpired(allowance, time) && (allowance.expiresAt ?? 0n) >= blockTime

export const isExpired = ({ expiresAt }: Pick<Allowance, 'expiresAt'>, time: bigint): boolean =>
  expiresAt !== undefined && expiresAt <= time + EXPIRY_MARGIN_SECONDS
