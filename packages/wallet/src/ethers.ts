import {
  isError,
  JsonRpcApiProvider,
  makeError,
  Network,
  type JsonRpcApiProviderOptions,
  type JsonRpcError,
  type JsonRpcPayload,
  type JsonRpcResult,
  type Subscriber,
  type Subscription,
  type TransactionReceipt,
} from 'ethers'
import { answersOf } from './adapters/answers.js'
import { type Sender } from './adapters/caller.js'
import { parseEvmChain, type EvmChain } from './adapters/chain.js'
import { createPolling } from './adapters/ethers-polling.js'
import { isRefusal } from './adapters/provider-error.js'
import { isTollgateError } from './errors.js'

export type TollgateProviderOptions = Omit<JsonRpcApiProviderOptions, 'polling'>

/** Leaves room below the gateway's limit, 1 MiB with what it is wrapped in. */
const BATCH_MAX_SIZE = 1_000_000

/**
 * Events are polled. A refused payment rejects what waits for it as the TollgateError; if it is refused while polling, `error` is
 * emitted with it, the listeners of polled events are removed, and `wait` of a transaction rejects.
 */
export function tollgateProvider(
  tollgate: Sender,
  chain: EvmChain,
  options: TollgateProviderOptions = {},
): JsonRpcApiProvider {
  return new TollgateProvider(tollgate, chain, options)
}

class TollgateProvider extends JsonRpcApiProvider {
  readonly #send: (body: unknown) => Promise<unknown>
  readonly #pollingInterval: number
  readonly #polling = createPolling(this)
  #detected: Promise<Network> | undefined
  #isDetected = false

  constructor(tollgate: Sender, chain: EvmChain, options: TollgateProviderOptions) {
    const { name, id } = parseEvmChain(chain)
    const network = id === undefined ? undefined : Network.from(id)
    const { staticNetwork = network } = options
    super(network, {
      batchMaxSize: BATCH_MAX_SIZE,
      ...options,
      polling: true,
      staticNetwork: (staticNetwork === true ? network : staticNetwork) ?? null,
    })
    this.#send = (body) => tollgate.send(name, body)
    this.#pollingInterval = options.pollingInterval ?? 4000
  }

  override get pollingInterval(): number {
    return this.#pollingInterval
  }

  override async _send(
    payload: JsonRpcPayload | JsonRpcPayload[],
  ): Promise<(JsonRpcResult | JsonRpcError)[]> {
    const answers = answersOf(payload, await this.#send(payload))
    const requests = Array.isArray(payload) ? payload : [payload]
    return requests.map(({ id }, index) => ({ id, ...answers[index] }) as JsonRpcResult | JsonRpcError)
  }

  /** A chain keeps its id: it is paid for once. */
  override async _detectNetwork(): Promise<Network> {
    const detected = (this.#detected ??= super._detectNetwork())
    try {
      const network = await detected
      this.#isDetected = true
      this._start()
      return network
    } catch (error) {
      if (this.#detected === detected) this.#detected = undefined
      throw error
    }
  }

  /** Before the network is known ethers would ask for it each second, without end, and log. */
  override _start(): void {
    if (this.#isDetected) super._start()
  }

  override _getSubscriber(subscription: Subscription): Subscriber {
    return this.#polling.subscriberOf(subscription) ?? super._getSubscriber(subscription)
  }

  /** ethers' own one logs what fails, and goes on. */
  override async waitForTransaction(
    hash: string,
    confirms?: number | null,
    timeout?: number | null,
  ): Promise<TransactionReceipt | null> {
    const deadline = timeout == null ? Infinity : Date.now() + timeout
    for (;;) {
      try {
        const receipt = await this.getTransactionReceipt(hash)
        if ((confirms ?? 1) === 0) return receipt
        if (receipt && (await receipt.confirmations()) >= (confirms ?? 1)) return receipt
      } catch (error) {
        if (!isTransient(error) || this.destroyed) throw error
      }
      const left = deadline - Date.now()
      if (left <= 0)
        throw makeError('timeout', 'TIMEOUT', { operation: 'waitForTransaction', reason: 'timeout' })
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, this.#pollingInterval)))
    }
  }
}

/** No provider answered, or too many calls. */
const TRANSIENT_CODES = [-32603, -32005]

function isTransient(error: unknown): boolean {
  if (isTollgateError(error)) return !isRefusal(error)
  if (!isError(error, 'UNKNOWN_ERROR')) return false
  const { error: cause } = error as { error?: { code?: number } }
  return TRANSIENT_CODES.includes(cause?.code ?? 0)
}
