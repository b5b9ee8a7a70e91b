import { type OwnTransaction } from '@tollgate/chains'
import { inTransaction, type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type Claim } from '../claims/claim'
import { type Broadcaster } from '../signing/broadcaster'
import { type SigningStore } from '../signing/signing-store'
import { type PendingTransaction, type TransactionStore } from './transaction-store'

type Filled = { version: OwnTransaction; nonce: bigint; settlements: Claim[]; moved?: string }

/**
 * Moves transactions to nonces below them that others left unused and no new claim takes, because a node takes nonces in order. The
 * last ones move, so that those between keep theirs. Below a fee grant, which cannot move, a transaction that settles nothing takes the
 * nonce: no grant is signed above a nonce that may stay unused, but a reorg can free one. Only the holder of the signer's lock may call it.
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
  const { chain, name, maxFeesPerDay } = network

  /** Each version is stored before it is broadcast. */
  return async function fillGaps(session: PoolClient): Promise<void> {
    const { moveTo } = chain.signer
    if (!moveTo) return
    const filled = await inTransaction(session, async () => {
      const pending = await transactions.pending(session, name, signer)
      if (pending.length === 0) return []
      const from = await chain.signer.nextNonce(signer)
      const free = await signing.freeNonces(session, name, signer, { from, count: pending.length })
      const stored: Filled[] = []
      for (const move of planMoves(pending, free)) {
        const version = await moveTo(move.transaction.transaction, { signer, nonce: move.nonce })
        const one = await (version ? storeMoved(session, move, version) : storeFiller(session, move.nonce))
        if (one) stored.push(one)
        if (!one?.moved) break
      }
      return stored
    })
    for (const { version, nonce, moved, settlements } of filled) {
      if (moved) logger.warn('transaction moved', { transaction: moved, by: version.hash, nonce })
      else logger.warn('nonce filled', { transaction: version.hash, nonce })
      send(version, settlements)
    }
  }

  async function storeMoved(
    session: PoolClient,
    { transaction: { id, transaction, settlements }, nonce }: Move<PendingTransaction>,
    version: OwnTransaction,
  ): Promise<Filled | undefined> {
    const isStored = await transactions.storeVersion(session, id, version, nonce)
    return isStored ? { version, nonce, settlements, moved: transaction.hash } : undefined
  }

  async function storeFiller(session: PoolClient, nonce: bigint): Promise<Filled | undefined> {
    const version = await chain.signer.fill?.({ signer, nonce })
    if (!version) return undefined
    const { cost } = version
    const spent = await signing.feesOfDay(session, name)
    if (maxFeesPerDay !== undefined && spent + cost > maxFeesPerDay) return undefined
    await signing.storeSigned(session, {
      claims: [],
      network: name,
      signer,
      nonce,
      transaction: version,
      cost,
    })
    return { version, nonce, settlements: [] }
  }
}

type Move<T> = { transaction: T; nonce: bigint }

/** `pending` by nonce, `free` likewise. */
export function planMoves<T extends Pick<PendingTransaction, 'nonce'>>(
  pending: readonly T[],
  free: readonly bigint[],
): Move<T>[] {
  const last = [...pending].reverse()
  return free.flatMap((nonce, index) => {
    const transaction = last[index]
    return transaction && nonce < transaction.nonce ? [{ transaction, nonce }] : []
  })
}
