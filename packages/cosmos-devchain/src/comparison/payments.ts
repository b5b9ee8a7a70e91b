import { MsgMultiSend, MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { AllowedMsgAllowance, BasicAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { MsgGrantAllowance, MsgRevokeAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { moduleAddress } from '../app/address'
import { timestampOf } from '../app/time'
import { FEE, newWallet, sendMessage, type TxOverrides, type Wallet } from '../testing/tx'

const SEND = '/cosmos.bank.v1beta1.MsgSend'
const EXPIRATION = timestampOf(Date.UTC(2035, 0, 1))
const PAST = timestampOf(Date.UTC(2020, 0, 1))

const coins = (amount: number, denom = 'uatom') => [{ denom, amount: String(amount) }]

function basicAllowance(limit: number, expiration = EXPIRATION): Any {
  const value = BasicAllowance.encode({ spendLimit: coins(limit), expiration }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.feegrant.v1beta1.BasicAllowance', value })
}

function allowanceFor(messages: string[], allowance: Any): Any {
  const value = AllowedMsgAllowance.encode({ allowance, allowedMessages: messages }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.feegrant.v1beta1.AllowedMsgAllowance', value })
}

function grant(granter: string, grantee: string, allowance: Any): Any {
  const value = MsgGrantAllowance.encode({ granter, grantee, allowance }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.feegrant.v1beta1.MsgGrantAllowance', value })
}

function revoke(granter: string, grantee: string): Any {
  const value = MsgRevokeAllowance.encode({ granter, grantee }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.feegrant.v1beta1.MsgRevokeAllowance', value })
}

function multiSend(from: string, amount: number, outputs: readonly (readonly [string, number])[]): Any {
  const value = MsgMultiSend.encode({
    inputs: [{ address: from, coins: coins(amount) }],
    outputs: outputs.map(([address, part]) => ({ address, coins: coins(part) })),
  }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.bank.v1beta1.MsgMultiSend', value })
}

function sendOf(from: string, to: string, amount: { denom: string; amount: string }[]): Any {
  const value = MsgSend.encode({ fromAddress: from, toAddress: to, amount }).finish()
  return Any.fromPartial({ typeUrl: SEND, value })
}

export type Payment = {
  what: string
  from: Wallet
  overrides: TxOverrides
}

/** The order matters: some depend on earlier ones. */
export function paymentsBetween(payer: Wallet, granter: Wallet, grantee: Wallet): readonly Payment[] {
  const to = newWallet().address
  const other = newWallet().address
  const [a, g, p] = [payer.address, granter.address, grantee.address]
  const sponsored = (amount = FEE.amount) => ({
    granter: g,
    amount: [{ ...FEE, amount }],
  })
  const by =
    (from: Wallet) =>
    (what: string, messages: Any[], overrides: TxOverrides = {}) => ({
      what,
      from,
      overrides: { messages, ...overrides },
    })
  const [fromPayer, fromGranter, fromGrantee] = [by(payer), by(granter), by(grantee)]

  return [
    fromPayer('to a new account', [sendMessage(a, to, '7')]),
    fromPayer('to an account that is there', [sendMessage(a, to, '8')]),
    fromPayer('to itself', [sendMessage(a, a, '9')]),
    fromPayer('signed in amino', [sendMessage(a, to, '1')], {
      mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON,
    }),
    fromPayer('with a memo', [sendMessage(a, to, '1')], { body: { memo: 'x402 <&> €' } }),
    fromPayer('of two messages', [sendMessage(a, to, '1'), sendMessage(a, other, '2')]),
    fromPayer('to many', [
      multiSend(a, 5, [
        [to, 2],
        [other, 3],
      ]),
    ]),
    fromPayer('to many, of another sum', [multiSend(a, 5, [[to, 2]])]),
    fromPayer('of more than it holds', [sendMessage(a, to, '90000000000')]),
    fromPayer('of a coin that it does not hold', [sendMessage(a, to, '1', 'uusdc')]),
    fromPayer('of nothing', [sendMessage(a, to, '0')]),
    fromPayer('of no coins', [sendOf(a, to, [])]),
    fromPayer('of coins out of order', [sendOf(a, to, [...coins(1, 'uusdc'), ...coins(1)])]),
    fromPayer('to no address', [sendMessage(a, 'cosmos1x', '1')]),
    fromPayer('to a module account', [sendMessage(a, moduleAddress('fee_collector'), '1')]),
    fromPayer('whose second message fails', [sendMessage(a, to, '1'), sendMessage(a, to, '90000000000')]),
    fromPayer('with gas for the checks only', [sendMessage(a, to, '1')], { fee: { gasLimit: 60_000n } }),

    fromGrantee('with a granter who granted nothing', [sendMessage(p, to, '1')], { fee: sponsored() }),
    fromGranter('grants an allowance', [grant(g, p, basicAllowance(12_000))]),
    fromGranter('grants it twice', [grant(g, p, basicAllowance(12_000))]),
    fromGrantee('with a fee granter', [sendMessage(p, to, '1')], { fee: sponsored() }),
    fromGrantee('with a fee granter, of more than it holds', [sendMessage(p, to, '90000')], {
      fee: sponsored('6000'),
    }),
    fromGrantee('with a fee above what remains allowed', [sendMessage(p, to, '1')], { fee: sponsored() }),
    fromGranter('revokes it', [revoke(g, p)]),
    fromGranter('revokes it twice', [revoke(g, p)]),
    fromGranter('grants one that has expired', [grant(g, p, basicAllowance(12_000, PAST))]),
    fromGranter('grants one to itself', [grant(g, g, basicAllowance(12_000))]),
    fromGranter('grants one for no message', [grant(g, p, allowanceFor([], basicAllowance(9)))]),
    fromGranter('grants one for sending', [grant(g, p, allowanceFor([SEND], basicAllowance(5000)))]),
    fromGrantee('of a message that is not allowed', [multiSend(p, 1, [[to, 1]])], { fee: sponsored() }),
    fromGrantee('with the whole allowance', [sendMessage(p, to, '1')], { fee: sponsored() }),
    fromGrantee('with an allowance that is used up', [sendMessage(p, to, '1')], { fee: sponsored() }),
  ]
}
