import { createEvmCaller, type Call, type Sender } from './adapters/caller.js'
import { type EvmChain } from './adapters/chain.js'
import { asProviderError, ProviderRpcError } from './adapters/provider-error.js'
import { isTollgateError } from './errors.js'

export { ProviderRpcError } from './adapters/provider-error.js'

export type TollgateEip1193 = {
  /** @throws ProviderRpcError with the node’s code, message and data */
  request(call: Call): Promise<unknown>
  on(event: string, listener: (...args: never[]) => void): TollgateEip1193
  removeListener(event: string, listener: (...args: never[]) => void): TollgateEip1193
}

const NEEDS_WALLET =
  /^(eth_accounts|eth_requestAccounts|eth_coinbase|eth_sendTransaction|eth_sign.*|personal_.*|wallet_.*)$/

/**
 * Reads a chain, and sends signed transactions, as an injected wallet would; it has no accounts. Emits `connect` with the first
 * answer, and `disconnect` when the Tollgate is closed.
 */
export function tollgateEip1193(tollgate: Sender, chain: EvmChain): TollgateEip1193 {
  const caller = createEvmCaller(tollgate, chain)
  const listeners = new Map<string, Set<(argument: unknown) => void>>()
  let state: 'new' | 'connected' | 'disconnected' = 'new'

  function emit(event: string, argument: unknown) {
    for (const listener of listeners.get(event) ?? [])
      try {
        listener(argument)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
  }

  function answered() {
    const chainId = caller.chainId()
    if (state !== 'new' || chainId === undefined) return
    state = 'connected'
    emit('connect', { chainId })
  }

  function failed(error: unknown): unknown {
    if (!isTollgateError(error)) return error
    const failure = asProviderError(error)
    if (error.code === 'CLOSED' && state !== 'disconnected') {
      state = 'disconnected'
      emit('disconnect', failure)
    }
    return failure
  }

  const provider: TollgateEip1193 = {
    async request({ method, params }) {
      const refused = refusalOf(method)
      if (refused !== undefined) throw new ProviderRpcError({ code: 4200, message: refused })
      const answer = await caller.call({ method, params }).catch((error: unknown) => {
        throw failed(error)
      })
      if ('error' in answer) throw new ProviderRpcError(answer.error)
      answered()
      return answer.result
    },
    on(event, listener) {
      const those = listeners.get(event) ?? new Set()
      listeners.set(event, those.add(listener as (argument: unknown) => void))
      return provider
    },
    removeListener(event, listener) {
      listeners.get(event)?.delete(listener as (argument: unknown) => void)
      return provider
    },
  }
  return provider
}

function refusalOf(method: string): string | undefined {
  if (NEEDS_WALLET.test(method))
    return `${method}: this provider has no accounts. Sign with the wallet, and send with eth_sendRawTransaction.`
  if (method === 'eth_subscribe' || method === 'eth_unsubscribe')
    return `${method}: the gateway keeps no connection open. Poll instead.`
  return undefined
}
