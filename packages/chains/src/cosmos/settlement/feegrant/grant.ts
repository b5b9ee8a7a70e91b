import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { AllowedMsgAllowance, BasicAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { MsgGrantAllowance, MsgRevokeAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { Timestamp } from 'cosmjs-types/google/protobuf/timestamp'
import type { Coin } from '../../signing/tx'
import { type Allowance, readAllowance } from './allowance'

/** A fee allowance for a payer; `expiresAt` in Unix seconds. */
export type Grant = { granter: string; grantee: string; coin: Coin; expiresAt: bigint }

type Codec<T> = { typeUrl: string; encode(message: T): { finish(): Uint8Array } }
const pack = <T>(codec: Codec<T>, message: T): Any =>
  Any.fromPartial({ typeUrl: codec.typeUrl, value: codec.encode(message).finish() })

/** Allows only transactions of bank sends. Throws for amount 0, because an allowance of no coins has no limit (x/feegrant). */
export function grantMessage({ granter, grantee, coin, expiresAt }: Grant): Any {
  if (coin.amount <= 0n) throw new Error('A fee allowance needs a limit')
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

/** Undefined if the message is not a grant. */
export function readGrant({ typeUrl, value }: Pick<Any, 'typeUrl' | 'value'>): Grant | undefined {
  if (typeUrl !== MsgGrantAllowance.typeUrl) return undefined
  const { granter, grantee, allowance } = MsgGrantAllowance.decode(value)
  const { limits, expiresAt }: Partial<Allowance> = allowance === undefined ? {} : readAllowance(allowance)
  const [[denom, amount] = []] = limits?.[0] ?? []
  if (denom === undefined || amount === undefined || expiresAt === undefined) return undefined
  return { granter, grantee, coin: { denom, amount }, expiresAt }
}
