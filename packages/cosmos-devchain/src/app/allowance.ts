import {
  AllowedMsgAllowance,
  BasicAllowance,
  PeriodicAllowance,
} from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { type Timestamp } from 'cosmjs-types/google/protobuf/timestamp'
import { areValid, type Coins, coinsText, readCoins, subtract, toProto } from './coins'
import { type Context } from './context'
import { sdkError } from './errors'
import { goTime, timestampOf } from './time'

const BASIC = '/cosmos.feegrant.v1beta1.BasicAllowance'
const PERIODIC = '/cosmos.feegrant.v1beta1.PeriodicAllowance'
const ALLOWED = '/cosmos.feegrant.v1beta1.AllowedMsgAllowance'

export type Allowance =
  | { kind: 'basic'; of: BasicAllowance }
  | { kind: 'periodic'; of: PeriodicAllowance }
  | { kind: 'allowed'; messages: string[]; inner: Allowance | undefined }

type Typed = readonly { typeUrl: string }[]

const GAS_OF_A_MESSAGE = 10

export function readAllowance({ typeUrl, value }: Any): Allowance {
  if (typeUrl === BASIC) return { kind: 'basic', of: BasicAllowance.decode(value) }
  if (typeUrl === PERIODIC) return { kind: 'periodic', of: PeriodicAllowance.decode(value) }
  if (typeUrl !== ALLOWED)
    throw sdkError(
      'tx parse error',
      `no concrete type registered for type URL ${typeUrl} against interface *feegrant.FeeAllowanceI`,
    )
  const { allowance, allowedMessages } = AllowedMsgAllowance.decode(value)
  return { kind: 'allowed', messages: allowedMessages, inner: allowance && readAllowance(allowance) }
}

export function writeAllowance(allowance: Allowance): Any {
  if (allowance.kind === 'basic')
    return Any.fromPartial({ typeUrl: BASIC, value: BasicAllowance.encode(allowance.of).finish() })
  if (allowance.kind === 'periodic')
    return Any.fromPartial({ typeUrl: PERIODIC, value: PeriodicAllowance.encode(allowance.of).finish() })
  const inner = allowance.inner && { allowance: writeAllowance(allowance.inner) }
  const value = AllowedMsgAllowance.fromPartial({ ...inner, allowedMessages: allowance.messages })
  return Any.fromPartial({ typeUrl: ALLOWED, value: AllowedMsgAllowance.encode(value).finish() })
}

/** The form in an amino sign document; undefined for a periodic allowance, which is not supported in amino. */
export function allowanceAmino(allowance: Allowance): object | undefined {
  if (allowance.kind === 'periodic') return undefined
  if (allowance.kind === 'basic') {
    const { spendLimit, expiration } = allowance.of
    const value = { spend_limit: spendLimit, ...(expiration && { expiration: goTime(expiration) }) }
    return { type: 'cosmos-sdk/BasicAllowance', value }
  }
  const inner = allowance.inner && allowanceAmino(allowance.inner)
  return (
    inner && {
      type: 'cosmos-sdk/AllowedMsgAllowance',
      value: { allowance: inner, allowed_messages: allowance.messages },
    }
  )
}

/**
 * The remaining allowance after this fee for these messages; undefined if used up. Throws if it is too little, expired
 * or for other messages.
 */
export function accept(
  context: Context,
  allowance: Allowance,
  fee: Coins,
  messages: Typed,
): Allowance | undefined {
  if (allowance.kind === 'basic') return acceptBasic(context, allowance.of, fee)
  if (allowance.kind === 'periodic') return acceptPeriodic(context, allowance.of, fee)
  const { messages: allowed, inner } = allowance
  context.gas.consume(GAS_OF_A_MESSAGE * (allowed.length + messages.length), 'check msg')
  if (!messages.every(({ typeUrl }) => allowed.includes(typeUrl)))
    throw sdkError('message not allowed', 'message does not exist in allowed messages')
  if (!inner) throw sdkError('no allowance', 'failed to get allowance')
  const left = accept(context, inner, fee, messages)
  return left && { ...allowance, inner: left }
}

function acceptBasic({ block }: Context, basic: BasicAllowance, fee: Coins): Allowance | undefined {
  if (isOver(basic, block.time)) throw sdkError('fee allowance expired', 'basic allowance')
  const left = spendLimitAfter(basic, fee, 'basic allowance')
  return left && { kind: 'basic', of: left }
}

function acceptPeriodic({ block }: Context, periodic: PeriodicAllowance, fee: Coins): Allowance | undefined {
  const { basic } = periodic
  if (isOver(basic, block.time)) throw sdkError('fee allowance expired', 'absolute limit')
  const { canSpend, reset } = currentPeriod(periodic, block.time)
  const rest = subtract(canSpend, fee)
  if (!rest) throw sdkError('fee limit exceeded', 'period limit')
  const left = spendLimitAfter(basic, fee, 'absolute limit')
  return (
    left && {
      kind: 'periodic',
      of: { ...periodic, basic: left, periodCanSpend: toProto(rest), periodReset: reset },
    }
  )
}

/** Undefined if the limit is used up. An empty limit means unlimited. */
function spendLimitAfter(basic: BasicAllowance, fee: Coins, where: string): BasicAllowance | undefined {
  if (basic.spendLimit.length === 0) return basic
  const left = subtract(readCoins(basic.spendLimit), fee)
  if (!left) throw sdkError('fee limit exceeded', where)
  return left.length === 0 ? undefined : { ...basic, spendLimit: toProto(left) }
}

function currentPeriod(
  { basic, period, periodSpendLimit, periodCanSpend, periodReset }: PeriodicAllowance,
  now: number,
) {
  if (now < millisecondsOf(periodReset)) return { canSpend: readCoins(periodCanSpend), reset: periodReset }
  const whole = readCoins(basic.spendLimit)
  const each = readCoins(periodSpendLimit)
  const length = Number(period.seconds) * 1000
  const next = millisecondsOf(periodReset) + length
  return {
    canSpend: whole.length > 0 && !subtract(whole, each) ? whole : each,
    reset: timestampOf(now > next ? now + length : next),
  }
}

/** Throws if a limit is not valid coins or nothing is allowed. */
export function validate(allowance: Allowance) {
  if (allowance.kind === 'allowed') {
    if (!allowance.inner) throw sdkError('no allowance', 'allowance should not be empty')
    if (allowance.messages.length === 0)
      throw sdkError('allowed messages are empty', "allowed messages shouldn't be empty")
    validate(allowance.inner)
    return
  }
  const limits =
    allowance.kind === 'basic'
      ? [allowance.of.spendLimit]
      : [allowance.of.basic.spendLimit, allowance.of.periodSpendLimit, allowance.of.periodCanSpend]
  for (const limit of limits.map(readCoins))
    if (!areValid(limit)) throw sdkError('invalid coins', `spend limit is invalid: ${coinsText(limit)}`)
}

/** Milliseconds since 1970; undefined if it never expires. */
export function expirationOf(allowance: Allowance): number | undefined {
  if (allowance.kind === 'allowed') return allowance.inner && expirationOf(allowance.inner)
  const { expiration } = allowance.kind === 'basic' ? allowance.of : allowance.of.basic
  return expiration && millisecondsOf(expiration)
}

const isOver = ({ expiration }: BasicAllowance, now: number) =>
  expiration !== undefined && millisecondsOf(expiration) < now

const millisecondsOf = ({ seconds, nanos }: Timestamp) => Number(seconds) * 1000 + nanos / 1_000_000
