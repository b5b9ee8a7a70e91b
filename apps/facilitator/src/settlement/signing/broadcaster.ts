import { NodeStarting, TransactionRejected, type SignedTransaction } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type SigningStore } from './signing-store'

export type Broadcaster = ReturnType<typeof createBroadcaster>

/** Broadcasts stored transactions in the background; the transaction tracker repeats what fails. */
export function createBroadcaster({
  network: { chain },
  signing,
  logger,
}: {
  network: Network
  signing: SigningStore
  logger: Logger
}) {
  const sending = new Map<string, Promise<void>>()

  async function broadcast(transaction: SignedTransaction): Promise<void> {
    try {
      await chain.node.broadcast(transaction)
      await signing.markAccepted(transaction.hash)
    } catch (error) {
      const isRefused = error instanceof TransactionRejected
      if (isRefused) await signing.markRejected(transaction.hash).catch(() => undefined)
      logger.log(logLevelOf(error), 'broadcast failed', {
        transaction: transaction.hash,
        error,
      })
    }
  }

  return {
    send(transaction: SignedTransaction): void {
      const { hash } = transaction
      sending.set(
        hash,
        broadcast(transaction).finally(() => sending.delete(hash)),
      )
    },
    isSending: (hash: string) => sending.has(hash),
    drained: () => Promise.all(sending.values()),
  }
}

/** A node that just started rejects transactions for a moment: no action is needed. */
export function logLevelOf(error: unknown, { isOld = false } = {}): 'error' | 'warn' | 'info' {
  if (error instanceof TransactionRejected) return 'error'
  return error instanceof NodeStarting && !isOld ? 'info' : 'warn'
}
