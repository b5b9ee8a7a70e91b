import { TransactionRejected, type SignedTransaction } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type SigningStore } from './signing-store'

export type Broadcaster = ReturnType<typeof createBroadcaster>

/** Sends what is signed and stored. Nobody waits for it: what does not arrive is sent again by who follows it. */
export function createBroadcaster({
  network: { chain },
  signing,
  logger,
}: {
  network: Network
  signing: SigningStore
  logger: Logger
}) {
  const underWay = new Map<string, Promise<void>>()

  async function broadcast(transaction: SignedTransaction): Promise<void> {
    try {
      await chain.broadcast(transaction)
      await signing.noteBroadcast(transaction.hash)
    } catch (error) {
      const isRefused = error instanceof TransactionRejected
      if (isRefused) await signing.noteRefused(transaction.hash).catch(() => undefined)
      logger.log(isRefused ? 'error' : 'warn', 'a signed transaction could not be sent; trying again', {
        transaction: transaction.hash,
        error,
      })
    }
  }

  return {
    send(transaction: SignedTransaction): void {
      const { hash } = transaction
      underWay.set(
        hash,
        broadcast(transaction).finally(() => underWay.delete(hash)),
      )
    },
    isSending: (hash: string) => underWay.has(hash),
    /** Resolves when nothing is being sent any more. */
    drained: () => Promise.all(underWay.values()),
  }
}
