import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApiError, type Logger } from '@tollgate/service'
import { type Notifications } from '@tollgate/database'
import { type Caller } from '../clients/store'
import { FINAL_CHANNEL } from '../settlement/channels'
import { createWaitingRoom } from './waiting-room'
import { type Settlement, type SettlementStore } from './store'

/** A notification is lost if its connection breaks. */
const POLL_INTERVAL_MS = 1_000

type Waiter = Pick<Caller, 'userId' | 'userFeeShareBps'>

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
  const due = new Set<bigint>()
  const room = createWaitingRoom()
  let isQuerying = false
  let isDraining = false

  /** Runs one query at a time; what becomes due meanwhile shares the next one. */
  async function resolveCompleted(ids: Iterable<bigint>): Promise<void> {
    for (const id of ids) due.add(id)
    if (isQuerying) return
    isQuerying = true
    // Collects the notifications of one commit, which arrive together.
    await nextTurn()
    while (due.size > 0) {
      const open = [...due].filter((id) => waiting.has(id))
      due.clear()
      if (open.length > 0) await resolveIfCompleted(open)
    }
    isQuerying = false
  }

  async function resolveIfCompleted(ids: readonly bigint[]): Promise<void> {
    try {
      for (const settlement of await store.findCompleted(ids))
        for (const resolve of waiting.get(settlement.id) ?? []) resolve(settlement)
    } catch (error) {
      logger.warn('settlement poll failed', { error })
    }
  }

  const unsubscribe = notifications.subscribe(FINAL_CHANNEL, (id) => void resolveCompleted([BigInt(id)]))
  const polling = setInterval(() => void resolveCompleted(waiting.keys()), POLL_INTERVAL_MS)

  return {
    /** Called before a claim. @throws ApiError OVERLOADED */
    assertCapacity(caller: Waiter) {
      if (!room.hasPlace(caller))
        throw new ApiError('OVERLOADED', 'Too many settlements are under way; try again in a few seconds', {
          retryAfterSeconds: 5,
        })
    },

    /** The completed settlement; undefined after `timeoutMs`. */
    async wait(id: bigint, timeoutMs: number, caller: Waiter): Promise<Settlement | undefined> {
      const resolvers = waiting.get(id) ?? new Set()
      waiting.set(id, resolvers)
      let resolve: (settlement?: Settlement) => void = () => undefined
      const completed = new Promise<Settlement | undefined>((fulfil) => (resolve = fulfil))
      resolvers.add(resolve)
      const timeout = setTimeout(() => resolve(), isDraining ? 0 : Math.max(0, timeoutMs))
      const leave = room.enter(caller)
      void resolveCompleted([id])
      try {
        return await completed
      } finally {
        clearTimeout(timeout)
        leave()
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
