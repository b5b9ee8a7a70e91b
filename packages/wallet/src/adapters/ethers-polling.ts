import {
  type JsonRpcApiProvider,
  type ProviderEvent,
  type Subscriber,
  type Subscription,
  type TransactionReceipt,
} from 'ethers'
import { isRefusal } from './provider-error.js'

/** Nodes may index logs late: while there are none, those of so many blocks are asked for again. */
const LOG_WINDOW_BLOCKS = 60

type Polled = {
  event: ProviderEvent
  /** Drops what happened during a pause. */
  forget?(): void
  /** Before the listeners of `event` are removed. */
  end?(error: Error): Promise<unknown>
}

/**
 * Polls for the events of `provider`. Errors are emitted as `error`; a refused payment ends the polling. (The subscribers of ethers
 * ignore errors, log them, or leave a rejected promise behind.)
 */
export function createPolling(provider: JsonRpcApiProvider) {
  const active = new Set<Polled>()

  function fail(error: unknown) {
    void provider.emit('error', error)
    if (!isRefusal(error)) return
    const ended = [...active]
    active.clear()
    for (const { event, end } of ended)
      void Promise.resolve(end?.(error)).then(() => provider.removeAllListeners(event))
  }

  function everyInterval(polled: Polled, poll: () => Promise<unknown>): Subscriber {
    let timer: number | undefined

    async function repeat() {
      await poll().catch((error: unknown) => {
        if (active.has(polled)) fail(error)
      })
      if (active.has(polled)) timer = provider._setTimeout(() => void repeat(), provider.pollingInterval)
    }
    return subscriber(polled, {
      start: () => void repeat(),
      stop() {
        if (timer !== undefined) provider._clearTimeout(timer)
      },
    })
  }

  /** `poll` is called with the current block, then with new ones, never twice at once. */
  function everyBlock(polled: Polled, poll: (block: number) => Promise<unknown>): Subscriber {
    let latest = -1
    let done = -1
    let isBusy = false

    async function catchUp(block: number) {
      latest = Math.max(latest, block)
      if (isBusy) return
      isBusy = true
      while (active.has(polled) && done < latest) {
        done = latest
        await poll(done).catch((error: unknown) => {
          if (active.has(polled)) fail(error)
        })
      }
      isBusy = false
    }
    const onBlock = (block: number) => void catchUp(block)
    return subscriber(polled, {
      start() {
        void provider.on('block', onBlock)
        provider.getBlockNumber().then(onBlock, (error: unknown) => {
          if (active.has(polled)) fail(error)
        })
      },
      stop: () => void provider.off('block', onBlock),
    })
  }

  function subscriber(polled: Polled, { start, stop }: { start(): void; stop(): void }): Subscriber {
    const begin = () => {
      if (active.has(polled)) return
      active.add(polled)
      start()
    }
    const end = () => {
      active.delete(polled)
      stop()
    }
    return {
      start: begin,
      stop: end,
      resume: begin,
      pause(dropWhilePaused) {
        end()
        if (dropWhilePaused) polled.forget?.()
      },
    }
  }

  function blocks(): Subscriber {
    let last: number | undefined
    const polled = { event: 'block', forget: () => (last = undefined) }
    return everyInterval(polled, async () => {
      const block = await provider.getBlockNumber()
      last ??= block
      while (last < block && active.has(polled)) await provider.emit('block', ++last)
    })
  }

  function taggedBlocks(event: 'safe' | 'finalized'): Subscriber {
    let last: number | undefined
    return everyBlock({ event, forget: () => (last = undefined) }, async () => {
      const number = (await provider.getBlock(event))?.number ?? -1
      if (last !== undefined && number > last) await provider.emit(event, number)
      last = Math.max(last ?? -1, number)
    })
  }

  function logs(filter: (Subscription & { type: 'event' })['filter']): Subscriber {
    let seen: number | undefined
    return everyBlock({ event: filter, forget: () => (seen = undefined) }, async (block) => {
      if (seen === undefined) return (seen = block)
      const found = await provider.getLogs({ ...filter, fromBlock: seen + 1, toBlock: block })
      seen = found.at(-1)?.blockNumber ?? Math.max(seen, block - LOG_WINDOW_BLOCKS)
      for (const log of found) await provider.emit(filter, log)
    })
  }

  function transaction(hash: string): Subscriber {
    const end = (error: Error) => provider.emit(hash, refusedReceipt(error))
    return everyBlock({ event: hash, end }, async (block) => {
      const receipt = await provider.getTransactionReceipt(hash)
      if (!receipt) return
      // `wait` asks for it while the event is emitted, and leaves a rejected promise behind if that fails.
      receipt.confirmations = () => Promise.resolve(Math.max(1, block - receipt.blockNumber + 1))
      await provider.emit(hash, receipt)
      Reflect.deleteProperty(receipt, 'confirmations')
    })
  }

  function pendingTransactions(): Subscriber {
    let filter: unknown
    const forget = () => (filter = undefined)
    return everyInterval({ event: 'pending', forget }, async () => {
      filter ??= await provider.send('eth_newPendingTransactionFilter', [])
      try {
        const hashes = (await provider.send('eth_getFilterChanges', [filter])) as string[]
        for (const hash of hashes) await provider.emit('pending', hash)
      } catch (error) {
        forget()
        throw error
      }
    })
  }

  return {
    /** Undefined for what is not polled. */
    subscriberOf(subscription: Subscription): Subscriber | undefined {
      if (subscription.type === 'block') return blocks()
      if (subscription.type === 'safe' || subscription.type === 'finalized')
        return taggedBlocks(subscription.type)
      if (subscription.type === 'event') return logs(subscription.filter)
      if (subscription.type === 'transaction') return transaction(subscription.hash)
      if (subscription.type === 'pending') return pendingTransactions()
      return undefined
    },
  }
}

/** `TransactionResponse.wait` reads `status` once there are enough confirmations, and rejects with what that throws. */
const refusedReceipt = (error: Error): Pick<TransactionReceipt, 'confirmations' | 'status'> => ({
  confirmations: () => Promise.resolve(Infinity),
  get status(): never {
    throw error
  },
})
