import { type Pool } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type ClaimStore } from '../claims/claim-store'
import { logLevelOf } from '../signing/broadcaster'
import { type OpenTransaction } from './transaction-store'

const LOG_INTERVAL_MS = 60_000

/** Reports why transactions cannot be tracked, an unchanged problem once a minute. */
export function createProblemReporter({
  pool,
  claimStore,
  logger,
}: {
  pool: Pool
  claimStore: ClaimStore
  logger: Logger
}) {
  const reported = new Map<bigint, { problem: string; at: number }>()

  return {
    async report({ id, transaction, settlements, isOld }: OpenTransaction, error: unknown): Promise<void> {
      const problem = error instanceof Error ? error.message : String(error)
      const last = reported.get(id)
      if (last?.problem === problem && performance.now() - last.at < LOG_INTERVAL_MS) return
      reported.set(id, { problem, at: performance.now() })
      const settlementIds = settlements.map((claim) => claim.id)
      logger.log(logLevelOf(error, { isOld }), 'transaction tracking failed', {
        settlementIds,
        transaction: transaction.hash,
        error,
      })
      await claimStore.noteProblem(pool, settlementIds, problem).catch(() => undefined)
    },

    forget: (id: bigint) => reported.delete(id),
  }
}
