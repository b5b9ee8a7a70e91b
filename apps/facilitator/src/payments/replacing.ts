import { type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type Counts } from '../operations/counts'
import { type Broadcaster } from './broadcasting'
import { inTransaction } from './session'
import { type Claim, type SettlerStore } from './settler-store'
import { type TransactionStore } from './transaction-store'

/** A transaction that waits for so long may offer too little: whether it does is asked of the chain. */
const WAIT_SECONDS = 5
/** The first in the row offers more after so long whatever the chain says: all others wait for it. */
const OVERDUE_SECONDS = 30

/** Lets transactions that are stuck offer more, under the nonces they have. Only who holds the signer's lock may call it. */
export function createReplacer(parts: {
  network: Network
  signer: string
  store: SettlerStore
  transactions: TransactionStore
  send: Broadcaster['send']
  counts: Counts
  logger: Logger
}) {
  const { network, signer, store, transactions, send, counts, logger } = parts
  const { chain, name } = network

  const note = (session: PoolClient, settlements: readonly Claim[]) =>
    store.noteProblem(
      session,
      settlements.map(({ id }) => id),
      'it is not mined, and higher fees would not help, or the cap does not allow them',
    )

  /** Looks once. Each new version is stored before it is sent; whichever is mined settles the same payments. */
  return async function replaceStuck(session: PoolClient): Promise<void> {
    const versions = await inTransaction(session, async () => {
      const stuck = await transactions.waiting(session, name, signer, {
        seconds: WAIT_SECONDS,
        overdueSeconds: OVERDUE_SECONDS,
      })
      const stored: { old: SignedTransaction; version: SignedTransaction }[] = []
      for (const { id, transaction: old, isOverdue, settlements } of stuck) {
        const version = await chain.replace(old, { signer, isOverdue })
        if (!version) {
          if (isOverdue) await note(session, settlements)
          continue
        }
        await transactions.storeVersion(session, id, version)
        stored.push({ old, version })
      }
      return stored
    })
    for (const { old, version } of versions) {
      logger.warn('a stuck transaction is replaced', { transaction: old.hash, by: version.hash })
      counts.replaced({ network: name, signer })
      send(version)
    }
  }
}
