import { inTransaction, type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type Broadcaster } from '../signing/broadcaster'
import { type SigningStore } from '../signing/signing-store'
import { type PendingTransaction, type TransactionStore } from './transaction-store'

/**
 * Moves transactions to nonces below them that others left unused and no new claim takes, because a node takes nonces in order. The
 * last ones move, so that those between keep theirs. Only the holder of the signer's lock may call it.
 */
export function createGapFiller(parts: {
  network: Network
  signer: string
  signing: SigningStore
  transactions: TransactionStore
  send: Broadcaster['send']
  logger: Logger
}) {
  const { network, signer, signing, transactions, send, logger } = parts
  const { chain, name } = network

  /** Each version is stored before it is broadcast. */
  return async function fillGaps(session: PoolClient): Promise<void> {
    const { moveTo } = chain.signer
    if (!moveTo) return
    const moved = await inTransaction(session, async () => {
      const pending = await transactions.pending(session, name, signer)
      if (pending.length === 0) return []
      const from = await chain.signer.nextNonce(signer)
      const free = await signing.freeNonces(session, name, signer, { from, count: pending.length })
      const stored = []
      for (const { transaction, nonce } of planMoves(pending, free)) {
        const version = await moveTo(transaction.transaction, { signer, nonce })
        if (!version || !(await transactions.storeVersion(session, transaction.id, version, nonce))) break
        stored.push({ ...transaction, nonce, version })
      }
      return stored
    })
    for (const { version, nonce, transaction, settlements } of moved) {
      logger.warn('transaction moved', { transaction: transaction.hash, by: version.hash, nonce })
      send(version, settlements)
    }
  }
}

/** `pending` by nonce, `free` likewise. */
export function planMoves<T extends Pick<PendingTransaction, 'nonce'>>(
  pending: readonly T[],
  free: readonly bigint[],
): { transaction: T; nonce: bigint }[] {
  const last = [...pending].reverse()
  return free.flatMap((nonce, index) => {
    const transaction = last[index]
    return transaction && nonce < transaction.nonce ? [{ transaction, nonce }] : []
  })
}
