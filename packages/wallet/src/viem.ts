import { createTransport, RpcRequestError, type Transport, type TransportConfig } from 'viem'
import { createEvmCaller, type BatchOptions, type Sender } from './adapters/caller.js'
import { type EvmChain } from './adapters/chain.js'
import { asProviderError, isRefusal } from './adapters/provider-error.js'
import { TollgateError } from './errors.js'

export type TollgateTransportOptions = Partial<
  Pick<TransportConfig, 'key' | 'name' | 'methods' | 'retryCount' | 'retryDelay'>
> & {
  /** Sends the calls of one moment in one request. Default: false. */
  batch?: boolean | BatchOptions | undefined
}

/** Filters live in one node, and the next call may reach another one: without them viem’s watchers ask for the logs. */
const WITHOUT_FILTERS = { exclude: ['eth_newFilter', 'eth_newBlockFilter'] }

/**
 * `chain`: by default the client’s. A refused payment is not repeated; `error.walk(isTollgateError)` finds it.
 *
 * @throws TollgateError INVALID_ARGUMENT, of the client, without a chain
 */
export function tollgateTransport(
  tollgate: Sender,
  chain?: EvmChain,
  options: TollgateTransportOptions = {},
): Transport<'tollgate'> {
  const { batch, key = 'tollgate', name = 'Tollgate', methods = WITHOUT_FILTERS, retryDelay } = options
  return ({ chain: clientChain, retryCount }) => {
    const named = chain ?? clientChain?.id
    if (named === undefined)
      throw new TollgateError('INVALID_ARGUMENT', 'Give tollgateTransport or the client a chain')
    const caller = createEvmCaller(tollgate, named, batch === true ? {} : batch || undefined)

    const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
      const answer = await caller.call({ method, params }).catch((error: unknown) => {
        // viem repeats a call unless the error's code is one of EIP-1193.
        throw isRefusal(error) ? asProviderError(error) : error
      })
      if ('result' in answer) return answer.result
      throw new RpcRequestError({ body: { method, params }, error: answer.error, url: caller.name })
    }
    return createTransport({
      key,
      name,
      methods,
      request: request as TransportConfig['request'],
      retryCount: options.retryCount ?? retryCount,
      retryDelay,
      type: 'tollgate',
    })
  }
}
