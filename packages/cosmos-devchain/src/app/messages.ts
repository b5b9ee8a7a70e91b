import { MsgMultiSend, MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { MsgGrantAllowance, MsgRevokeAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { type Any } from 'cosmjs-types/google/protobuf/any'
import { readAddress } from './address'
import { allowanceAmino, readAllowance } from './allowance'
import { multiSend, send } from './bank'
import { readCoins } from './coins'
import { type Context, event } from './context'
import { AbciError, sdkError, wrapped } from './errors'
import { chargeMessage } from './gas'
import { grantAllowance, revokeAllowance } from './feegrant'

export type Message = {
  typeUrl: string
  /** The addresses that must sign, as the message spells them. */
  signers(): string[]
  /** The form in an amino sign document; undefined if the message has none here. */
  amino(): { type: string; value: Record<string, unknown> } | undefined
  /** Returns the encoded response. If it throws, the caller drops its changes. */
  execute(context: Context): Uint8Array
}

const NOTHING = new Uint8Array()

const readers: Readonly<Record<string, (value: Uint8Array) => Omit<Message, 'typeUrl'>>> = {
  '/cosmos.bank.v1beta1.MsgSend'(value) {
    const { fromAddress, toAddress, amount } = MsgSend.decode(value)
    const coins = readCoins(amount)
    return {
      signers: () => [fromAddress],
      amino: () => ({
        type: 'cosmos-sdk/MsgSend',
        value: { from_address: fromAddress, to_address: toAddress, amount },
      }),
      execute(context) {
        send(context, addressIn('from', fromAddress), addressIn('to', toAddress), coins)
        return NOTHING
      },
    }
  },

  '/cosmos.bank.v1beta1.MsgMultiSend'(value) {
    const { inputs, outputs } = MsgMultiSend.decode(value)
    const given = inputs.map(({ address, coins }) => ({ address, coins: readCoins(coins) }))
    const taken = outputs.map(({ address, coins }) => ({ address, coins: readCoins(coins) }))
    return {
      signers: () => inputs.map(({ address }) => address),
      amino: () => ({ type: 'cosmos-sdk/MsgMultiSend', value: { inputs, outputs } }),
      execute(context) {
        multiSend(context, given, taken)
        return NOTHING
      },
    }
  },

  '/cosmos.feegrant.v1beta1.MsgGrantAllowance'(value) {
    const { granter, grantee, allowance: any } = MsgGrantAllowance.decode(value)
    const allowance = any && readAllowance(any)
    return {
      signers: () => [granter],
      amino() {
        const inner = allowance && allowanceAmino(allowance)
        return (
          inner && { type: 'cosmos-sdk/MsgGrantAllowance', value: { granter, grantee, allowance: inner } }
        )
      },
      execute(context) {
        grantAllowance(context, granter, grantee, allowance)
        return NOTHING
      },
    }
  },

  '/cosmos.feegrant.v1beta1.MsgRevokeAllowance'(value) {
    const { granter, grantee } = MsgRevokeAllowance.decode(value)
    return {
      signers: () => [granter],
      amino: () => ({ type: 'cosmos-sdk/MsgRevokeAllowance', value: { granter, grantee } }),
      execute(context) {
        revokeAllowance(context, granter, grantee)
        return NOTHING
      },
    }
  },
}

/** A type that is known but not executed is decoded too; its execution is refused. */
export function readMessage({ typeUrl, value }: Any): Message {
  const read = readers[typeUrl]
  if (!read)
    throw sdkError(
      'tx parse error',
      `no concrete type registered for type URL ${typeUrl} against interface *types.Msg`,
    )
  return { typeUrl, ...read(value) }
}

/** Executes one message of a transaction and emits its event. */
export function execute(context: Context, message: Message, index: number): Uint8Array {
  const outer = context.events
  const own: Context = { ...context, events: [] }
  try {
    chargeMessage(context.gas)
    const response = message.execute(own)
    const events = [
      event('message', {
        action: message.typeUrl,
        sender: readAddress(message.signers()[0] ?? ''),
        module: message.typeUrl.split('.')[1] ?? '',
      }),
      ...own.events,
    ]
    for (const { attributes } of events) attributes.push({ key: 'msg_index', value: String(index) })
    outer.push(...events)
    return response
  } catch (problem) {
    // The SDK panics when the gas runs out, so the error names no message.
    const isOutOfGas = problem instanceof AbciError && problem.codespace === 'sdk' && problem.code === 11
    throw isOutOfGas ? problem : wrapped(problem, `failed to execute message; message index: ${index}`)
  }
}

function addressIn(role: 'from' | 'to', text: string) {
  try {
    return readAddress(text)
  } catch (problem) {
    if (!(problem instanceof AbciError)) throw problem
    throw sdkError('invalid address', `invalid ${role} address: ${problem.message}`)
  }
}
