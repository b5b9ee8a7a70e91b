import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { AllowedMsgAllowance, BasicAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { MsgGrantAllowance, MsgRevokeAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { Timestamp } from 'cosmjs-types/google/protobuf/timestamp'
import type { Coin } from '../tx'
import { type Allowance, readAllowance } from './allowance'

/** What a payer is to be allowed. */
export type Grant = { granter: string; grantee: string; coin: Coin; expiresAt: bigint }

type Codec<T> = { typeUrl: string; encode(message: T): { finish(): Uint8Array } }
const pack = <T>(codec: Codec<T>, message: T): Any =>
  Any.fromPartial({ typeUrl: codec.typeUrl, value: codec.encode(message).finish() })

/**
 * Lets `grantee` spend so much and no more on fees of transactions with nothing but bank sends in them, no longer than told.
 *
 * @throws where the amount is zero: an allowance of no coins has no limit (x/feegrant, BasicAllowance)
 */
export function grantMessage({ granter, grantee, coin, expiresAt }: Grant): Any {
  if (coin.amount <= 0n) throw new Error('An allowance without a limit is never granted')
  const spendLimit = [{ denom: coin.denom, amount: coin.amount.toString() }]
  const expiration = Timestamp.fromPartial({ seconds: expiresAt })
  const allowance = pack(AllowedMsgAllowance, {
    allowance: pack(BasicAllowance, { spendLimit, expiration }),
    allowedMessages: [MsgSend.typeUrl],
  })
  return pack(MsgGrantAllowance, { granter, grantee, allowance })
}

export const revokeMessage = (message: Pick<Grant, 'granter' | 'grantee'>): Any =>
  pack(MsgRevokeAllowance, message)

/** The grant in a message of ours; undefined where the message is none. */
export function readGrant({ typeUrl, value }: Pick<Any, 'typeUrl' | 'value'>): Grant | undefined {
  if (typeUrl !== MsgGrantAllowance.typeUrl) return undefined
  const { granter, grantee, allowance } = MsgGrantAllowance.decode(value)
  const { limits, expiresAt }: Partial<Allowance> = allowance === undefined ? {} : readAllowance(allowance)
  const [[denom, amount] = []] = limits?.[0] ?? []
  if (denom === undefined || amount === undefined || expiresAt === undefined) return undefined
  return { granter, grantee, coin: { denom, amount }, expiresAt }
}
