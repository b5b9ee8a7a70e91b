import { type SignedTransaction } from '@tollgate/chains'
import { inTransaction, type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type SettlementMetrics } from '../metrics'
import { type Broadcaster } from '../signing/broadcaster'
import { type Claim } from '../claims/claim'
import { type ClaimStore } from '../claims/claim-store'
import { type SigningStore } from '../signing/signing-store'
import { type TransactionStore } from './transaction-store'

/** A transaction that waits for so long may offer too little: whether it does is asked of the chain. */
const WAIT_SECONDS = 5
/** The first in the row offers more after so long whatever the chain says: all others wait for it. */
const OVERDUE_SECONDS = 30

/** Lets transactions that are stuck offer more, under the nonces they have. Only who holds the signer's lock may call it. */
export function createStuckReplacer(parts: {
  network: Network
  signer: string
  store: ClaimStore
  signing: SigningStore
  transactions: TransactionStore
  send: Broadcaster['send']
  counts: SettlementMetrics
  logger: Logger
}) {
  const { network, signer, store, signing, transactions, send, counts, logger } = parts
  const { chain, name, maxFeesPerDay: cap } = network

  /** Whether the cap of a day has room for what this transaction may cost now. */
  const isWithinCap = async (session: PoolClient, id: bigint, cost: bigint) =>
    cap === undefined || (await signing.feesOfDay(session, name, id)) + cost <= cap

  const note = (session: PoolClient, settlements: readonly Claim[]) =>
    store.noteProblem(
      session,
      settlements.map(({ id }) => id),
      'it is not mined, and higher fees would not help, or a cap does not allow them',
    )

  /** Looks once. Each new version is stored before it is sent; whichever is mined settles the same payments. */
  return async function replaceStuck(session: PoolClient): Promise<void> {
    const versions = await inTransaction(session, async () => {
      const stuck = await transactions.waiting(session, name, signer, {
        seconds: WAIT_SECONDS,
        overdueSeconds: OVERDUE_SECONDS,
      })
      const asked = stuck.map(({ transaction, isOverdue }) =>
        chain.replace(transaction, { signer, isOverdue }),
      )
      // Query the chain first: reading the fees of the day takes a lock that others wait for.
      const answers = await Promise.all(asked)
      const stored: { old: SignedTransaction; version: SignedTransaction }[] = []
      for (const [index, { id, transaction: old, isOverdue, settlements }] of stuck.entries()) {
        const version = answers[index]
        if (!version || !(await isWithinCap(session, id, version.cost))) {
          if (isOverdue || version) await note(session, settlements)
          continue
        }
        await transactions.storeVersion(session, id, version)
        stored.push({ old, version })
      }
      return stored
    })
    for (const { old, version } of versions) {
      logger.warn('transaction replaced', { transaction: old.hash, by: version.hash })
      counts.replaced({ network: name, signer })
      send(version)
    }
  }
}
