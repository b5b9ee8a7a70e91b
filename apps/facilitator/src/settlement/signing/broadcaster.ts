import { NodeStarting, TransactionRejected, type SignedTransaction } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { withNodeSpans } from '../../networks/with-node-spans'
import { type Claim } from '../claims/claim'
import { inStep, type SettlementSteps } from '../settlement-steps'
import { type SigningStore } from './signing-store'

export type Broadcaster = ReturnType<typeof createBroadcaster>

/** Broadcasts stored transactions in the background; the transaction tracker repeats what fails. */
export function createBroadcaster({
  network,
  signing,
  steps,
  logger,
}: {
  network: Network
  signing: SigningStore
  steps: SettlementSteps
  logger: Logger
}) {
  const sending = new Map<string, Promise<void>>()

  async function broadcast(transaction: SignedTransaction, claims: readonly Claim[]): Promise<void> {
    const attributes = { 'tollgate.transaction': transaction.hash }
    const step = steps.start(claims, 'broadcast transaction', { attributes })
    try {
      await inStep(step, (span) => withNodeSpans(network, span).chain.node.broadcast(transaction))
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
    /** `claims`: those that the transaction settles. */
    send(transaction: SignedTransaction, claims: readonly Claim[]): void {
      const { hash } = transaction
      sending.set(
        hash,
        broadcast(transaction, claims).finally(() => sending.delete(hash)),
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
