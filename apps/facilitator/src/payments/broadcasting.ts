import { NodeStarting, TransactionRejected, type SignedTransaction } from '@tollgate/chains'
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
      logger.log(levelOf(error), 'a signed transaction could not be sent; trying again', {
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

/** A node that was just started refuses for a moment what it takes then: nobody has to do anything about that. */
export function levelOf(error: unknown, { isOld = false } = {}): 'error' | 'warn' | 'info' {
  if (error instanceof TransactionRejected) return 'error'
  return error instanceof NodeStarting && !isOld ? 'info' : 'warn'
}
