import { type GatewayDatabase } from '@tollgate/database'
import { withTimeout, type UsageOutcome } from '@tollgate/protocol'
import { batchOptions, createBatchExecutor, listOf } from './batch-statement'
import { createGroupCommit } from './group-commit'
import { type Term } from './lease'
import { accountBusy } from './ledger-errors'
import { type LedgerMetrics } from './ledger-metrics'
import { FINISH, FINISH_LATE, type BatchStatement, type FinishRow } from './ledger-sql'

/** `done` keeps the credits, `refunded` returns them. */
export type Ending = {
  usageId: bigint
  state: 'done' | 'refunded'
  statusCode: number | null
  outcome: UsageOutcome
  latencyMs: number | null
  /** Credits of a `done` call that it did not use: fewer than it reserved. */
  returned?: number
  /** Also refunds the call if an earlier ending, whose result is unknown, charged for it. */
  takesBack?: boolean
}

type Ended = FinishRow['ended']

/** No client waits for most endings, so they are written in larger batches. */
const PAUSE_MS = 10
const CONFIRM_TIMEOUT_MS = 5_000
const MAX_UNWRITTEN = 65_536

export function createCallEndings(database: Pick<GatewayDatabase, 'pool'>, metrics: LedgerMetrics) {
  const execute = createBatchExecutor(database)
  const optionsOf = (name: 'finish' | 'finish-late', statement: BatchStatement) => ({
    ...batchOptions,
    lanes: 1,
    maxWaiting: 65_536,
    onBatch: metrics.onBatch(name),
    flush: async (items: Ending[]) => {
      const rows = await execute<FinishRow>(name, statement, columnsOf(items))
      const ended = items.map((): Ended => 'now')
      for (const row of rows) ended[Number(row.position) - 1] = row.ended
      metrics.refunded.inc(rows.reduce((sum, { refunded }) => sum + (refunded ?? 0), 0))
      return ended
    },
  })
  const endings = createGroupCommit({ ...optionsOf('finish', FINISH), pauseMs: PAUSE_MS })
  /** For retries and refunds of orphans, so that they do not delay current calls, and for all that takes back. */
  const lateEndings = createGroupCommit(optionsOf('finish-late', FINISH_LATE))
  metrics.watch('finish', endings.waiting)
  metrics.watch('finish-late', lateEndings.waiting)

  /** Paid calls without an end. A reserved row of this replica that is not among them is an orphan. */
  const activeCalls = new Map<bigint, Term>()
  /** Retried until written, so that no call of a live replica stays reserved. */
  const unwritten: Ending[] = []

  const submit = async (commit: typeof endings, ending: Ending): Promise<boolean> => {
    try {
      const ended = await commit.submit(ending)
      if (ended === 'locked') throw accountBusy()
      endCall(ending.usageId)
      return ended === 'now'
    } catch (error) {
      retryLater(ending)
      throw error
    }
  }

  function retryLater(ending: Ending) {
    if (unwritten.length < MAX_UNWRITTEN) unwritten.push(ending)
    else activeCalls.delete(ending.usageId)
    notify()
  }

  function endCall(usageId: bigint) {
    activeCalls.delete(usageId)
    notify()
  }

  let waiting: (() => void)[] = []
  const haveCallsEnded = () => activeCalls.size <= unwritten.length
  function notify() {
    if (waiting.length === 0 || !haveCallsEnded()) return
    for (const done of waiting) done()
    waiting = []
  }

  return {
    activeCalls,

    /** Idempotent: returns false if the call had already ended. A rejected ending is retried. */
    finish: (ending: Ending) => submit(ending.takesBack ? lateEndings : endings, ending),

    async finishUnwritten(): Promise<void> {
      await Promise.all(unwritten.splice(0).map((ending) => submit(lateEndings, ending)))
    },

    /**
     * Charges for a call before it is answered: once true, no replica can refund it. If false, or if the result is unknown in
     * time, the call must not be answered, and its credits are returned.
     */
    async confirm(ending: Ending & { state: 'done' }): Promise<boolean> {
      const ended = await withTimeout(
        endings.submit(ending).catch(() => undefined),
        CONFIRM_TIMEOUT_MS,
        () => undefined,
      )
      if (ended === undefined || ended === 'locked')
        retryLater({ ...refundOf(ending.usageId, 'not_answered'), takesBack: true })
      else endCall(ending.usageId)
      return ended === 'now'
    },

    /** Until each paid call has an end, written or to be written again. */
    whenCallsEnded: () =>
      haveCallsEnded() ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve)),

    /** Returns whether this refund ended the call. Not retried. */
    async refund(usageId: bigint, outcome: UsageOutcome): Promise<boolean> {
      return (await lateEndings.submit(refundOf(usageId, outcome))) === 'now'
    },

    async drain(): Promise<void> {
      await Promise.all([endings.drain(), lateEndings.drain()])
    },
  }
}

const refundOf = (usageId: bigint, outcome: UsageOutcome): Ending => ({
  usageId,
  state: 'refunded',
  statusCode: null,
  outcome,
  latencyMs: null,
})

const columnsOf = (endings: Ending[]) => [
  listOf(endings.map((ending) => ending.usageId)),
  listOf(endings.map((ending) => ending.state)),
  listOf(endings.map((ending) => ending.statusCode)),
  listOf(endings.map((ending) => ending.outcome)),
  listOf(endings.map((ending) => ending.latencyMs)),
  listOf(endings.map((ending) => ending.takesBack === true)),
  listOf(endings.map((ending) => ending.returned ?? 0)),
]
