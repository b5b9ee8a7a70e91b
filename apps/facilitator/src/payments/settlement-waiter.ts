import { ApiError, type Logger } from '@tollgate/service'
import { type Notifications } from '@tollgate/database'
import { FINAL_CHANNEL } from '../settlement/channels'
import { type Settlement, type SettlementStore } from './store'

const MAX_WAITING = 5_000
/** A notification is lost if its connection breaks. */
const POLL_INTERVAL_MS = 1_000

export type SettlementWaiter = ReturnType<typeof createSettlementWaiter>

/** Lets requests wait for a settlement that any replica may complete. */
export function createSettlementWaiter({
  store,
  notifications,
  logger,
}: {
  store: Pick<SettlementStore, 'findCompleted'>
  notifications: Notifications
  logger: Logger
}) {
  const waiting = new Map<bigint, Set<(settlement?: Settlement) => void>>()
  let lastQuery = Promise.resolve()
  let isDraining = false

  /** Runs one query at a time. */
  function resolveCompleted(ids: readonly bigint[]) {
    lastQuery = lastQuery.then(async () => {
      try {
        const open = ids.filter((id) => waiting.has(id))
        if (open.length === 0) return
        for (const settlement of await store.findCompleted(open))
          for (const resolve of waiting.get(settlement.id) ?? []) resolve(settlement)
      } catch (error) {
        logger.warn('settlement poll failed', { error })
      }
    })
  }

  const unsubscribe = notifications.subscribe(FINAL_CHANNEL, (id) => resolveCompleted([BigInt(id)]))
  const polling = setInterval(() => resolveCompleted([...waiting.keys()]), POLL_INTERVAL_MS)

  return {
    /** Called before a claim. @throws ApiError OVERLOADED */
    assertCapacity() {
      if (waiting.size >= MAX_WAITING)
        throw new ApiError('OVERLOADED', 'Too many settlements are under way; try again in a few seconds', {
          retryAfterSeconds: 5,
        })
    },

    /** The completed settlement; undefined after `timeoutMs`. */
    async wait(id: bigint, timeoutMs: number): Promise<Settlement | undefined> {
      const resolvers = waiting.get(id) ?? new Set()
      waiting.set(id, resolvers)
      let resolve: (settlement?: Settlement) => void = () => undefined
      const completed = new Promise<Settlement | undefined>((fulfil) => (resolve = fulfil))
      resolvers.add(resolve)
      const timeout = setTimeout(() => resolve(), isDraining ? 0 : Math.max(0, timeoutMs))
      resolveCompleted([id])
      try {
        return await completed
      } finally {
        clearTimeout(timeout)
        resolvers.delete(resolve)
        if (resolvers.size === 0) waiting.delete(id)
      }
    },

    /** Ends all current and future waits: the process is about to stop. */
    drain() {
      isDraining = true
      for (const resolvers of waiting.values()) for (const resolve of resolvers) resolve()
    },

    close() {
      unsubscribe()
      clearInterval(polling)
    },
  }
}
