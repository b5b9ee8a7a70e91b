import { type SignedTransaction } from '@tollgate/chains'
import { inTransaction, type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type SettlementMetrics } from '../metrics'
import { type Broadcaster } from '../signing/broadcaster'
import { type Claim } from '../claims/claim'
import { type ClaimStore } from '../claims/claim-store'
import { createSignerFailureReporter } from '../signing/signer-failures'
import { type SigningStore } from '../signing/signing-store'
import { type TransactionStore } from './transaction-store'

/** After this time the chain is asked whether the fees are too low. */
const WAIT_SECONDS = 5
/** After this time the transaction with the lowest nonce is replaced in any case: all others wait for it. */
const OVERDUE_SECONDS = 30

/** Replaces stuck transactions by versions with the same nonce and higher fees. Only the holder of the signer's lock may call it. */
export function createStuckReplacer(parts: {
  network: Network
  signer: string
  claimStore: ClaimStore
  signing: SigningStore
  transactions: TransactionStore
  send: Broadcaster['send']
  metrics: SettlementMetrics
  logger: Logger
}) {
  const { network, signer, claimStore, signing, transactions, send, metrics, logger } = parts
  const { chain, name, maxFeesPerDay: dailyLimit } = network
  const reportFailure = createSignerFailureReporter({ network: name, signer, metrics, logger })

  const isWithinDailyLimit = async (session: PoolClient, id: bigint, cost: bigint) =>
    dailyLimit === undefined || (await signing.feesOfDay(session, name, id)) + cost <= dailyLimit

  const note = (session: PoolClient, settlements: readonly Claim[]) =>
    claimStore.noteProblem(
      session,
      settlements.map(({ id }) => id),
      'it is not mined, and higher fees would not help, or a fee limit does not allow them',
    )

  /** One pass. Each version is stored before it is broadcast; whichever is mined settles the same payments. */
  return async function replaceStuck(session: PoolClient): Promise<void> {
    if (!(await chain.signer.isAvailable(signer))) return
    const versions = await inTransaction(session, async () => {
      const stuck = await transactions.waiting(session, name, signer, {
        seconds: WAIT_SECONDS,
        overdueSeconds: OVERDUE_SECONDS,
      })
      const requests = stuck.map(({ transaction, isOverdue }) =>
        chain.signer.replace(transaction, { signer, isOverdue }).catch(reportFailure),
      )
      // Query the chain first: reading the fees of the day takes a lock that others wait for.
      const replacements = await Promise.all(requests)
      const stored: { old: SignedTransaction; version: SignedTransaction; settlements: Claim[] }[] = []
      const unreplaced: Claim[] = []
      for (const [index, { id, transaction: old, isOverdue, settlements }] of stuck.entries()) {
        const version = replacements[index]
        if (!version || !(await isWithinDailyLimit(session, id, version.cost))) {
          if (isOverdue || version) unreplaced.push(...settlements)
        } else if (await transactions.storeVersion(session, id, version))
          stored.push({ old, version, settlements })
      }
      // Last: other sessions lock a transaction before its settlements.
      if (unreplaced.length > 0) await note(session, unreplaced)
      return stored
    })
    for (const { old, version, settlements } of versions) {
      logger.warn('transaction replaced', { transaction: old.hash, by: version.hash })
      metrics.replaced({ network: name, signer })
      send(version, settlements)
    }
  }
}
