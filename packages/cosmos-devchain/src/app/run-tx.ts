import { TxMsgData } from 'cosmjs-types/cosmos/base/abci/v1beta1/abci'
import { ante } from './ante'
import { type Block, type Context, type Event, type Mode } from './context'
import { AbciError, sdkError } from './errors'
import { createGasMeter, metered, NO_LIMIT } from './gas'
import { execute } from './messages'
import { branch, type Store } from './store'
import { decodeTx } from './tx'

export type TxResult = {
  code: number
  codespace: string
  log: string
  /** Encoded `TxMsgData` if the messages were executed. */
  data: Uint8Array
  gasWanted: bigint
  gasUsed: bigint
  events: Event[]
}

export type Setting = {
  chainId: string
  block: Block
  minimumGasPrice: Context['minimumGasPrice']
}

/**
 * Runs a transaction on `store` like the SDK's `BaseApp.runTx`. If a check before the messages fails, nothing is written. After the
 * checks the fee and the sequence are spent, and the messages take effect all or none. `check` executes no message.
 */
export function runTx(store: Store, bytes: Uint8Array, mode: Mode, setting: Setting): TxResult {
  let gas = createGasMeter(0n)
  let events: Event[] = []
  try {
    const tx = decodeTx(bytes)
    if (tx.messages.length === 0) throw sdkError('invalid request', 'must contain at least one message')
    gas = createGasMeter(mode === 'simulate' ? NO_LIMIT : (tx.fee?.gas ?? 0n))
    const context = { ...setting, gas, mode }

    const checked = branch(store)
    const anteEvents: Event[] = []
    ante({ ...context, store: metered(checked, gas), events: anteEvents }, tx)
    checked.write()
    events = anteEvents
    if (mode === 'check' || mode === 'recheck') return success(gas, events, new Uint8Array())

    const done = branch(store)
    const executing = { ...context, store: metered(done, gas), events: [...anteEvents] }
    const msgResponses = tx.messages.map((message, i) => ({
      typeUrl: `${message.typeUrl}Response`,
      value: execute(executing, message, i),
    }))
    done.write()
    const data = TxMsgData.encode(TxMsgData.fromPartial({ msgResponses })).finish()
    return success(gas, executing.events, data)
  } catch (problem) {
    const { code, codespace, message } =
      problem instanceof AbciError ? problem : sdkError('panic', String(problem))
    return {
      code,
      codespace,
      log: message,
      data: new Uint8Array(),
      gasWanted: gas.limit,
      gasUsed: gas.consumed(),
      events,
    }
  }
}

function success(gas: { limit: bigint; consumed(): bigint }, events: Event[], data: Uint8Array): TxResult {
  return { code: 0, codespace: '', log: '', data, gasWanted: gas.limit, gasUsed: gas.consumed(), events }
}
