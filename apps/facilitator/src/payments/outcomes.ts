import { ApiError, type Logger } from '@tollgate/service'
import { type Notices } from './notices'
import { FINAL_CHANNEL, type Settlement, type SettlementStore } from './store'

const MAX_WAITING = 5_000
/** Notices are fast and may be lost with their connection; looking again is slow and is not. */
const LOOK_AGAIN_MS = 1_000

export type Outcomes = ReturnType<typeof createOutcomes>

/** Lets requests wait until a settlement is over, whichever replica carries it out. */
export function createOutcomes({
  store,
  notices,
  logger,
}: {
  store: Pick<SettlementStore, 'over'>
  notices: Notices
  logger: Logger
}) {
  const waiting = new Map<bigint, Set<(settlement?: Settlement) => void>>()
  let looking = Promise.resolve()
  let isLettingGo = false

  /** Tells those who wait for any of `ids` that are over; one query at a time. */
  function look(ids: readonly bigint[]) {
    looking = looking.then(async () => {
      try {
        const open = ids.filter((id) => waiting.has(id))
        if (open.length === 0) return
        for (const settlement of await store.over(open))
          for (const tell of waiting.get(settlement.id) ?? []) tell(settlement)
      } catch (error) {
        logger.warn('could not look for outcomes; looking again', { error })
      }
    })
  }

  const unsubscribe = notices.subscribe(FINAL_CHANNEL, (id) => look([BigInt(id)]))
  const lookAgain = setInterval(() => look([...waiting.keys()]), LOOK_AGAIN_MS)

  return {
    /** @throws ApiError OVERLOADED where too many wait already: to be asked before anything is claimed */
    refuseCrowd() {
      if (waiting.size >= MAX_WAITING)
        throw new ApiError('OVERLOADED', 'Too many settlements are under way; try again in a few seconds', {
          retryAfterSeconds: 5,
        })
    },

    /** The settlement once it is over; undefined where `patienceMs` pass first. */
    async wait(id: bigint, patienceMs: number): Promise<Settlement | undefined> {
      const waiters = waiting.get(id) ?? new Set()
      waiting.set(id, waiters)
      let tell: (settlement?: Settlement) => void = () => undefined
      const over = new Promise<Settlement | undefined>((resolve) => (tell = resolve))
      waiters.add(tell)
      const tooLate = setTimeout(() => tell(), isLettingGo ? 0 : Math.max(0, patienceMs))
      look([id])
      try {
        return await over
      } finally {
        clearTimeout(tooLate)
        waiters.delete(tell)
        if (waiters.size === 0) waiting.delete(id)
      }
    },

    /** From now on nobody waits: for a process that is about to stop. */
    letGo() {
      isLettingGo = true
      for (const waiters of waiting.values()) for (const tell of waiters) tell()
    },

    close() {
      unsubscribe()
      clearInterval(lookAgain)
    },
  }
}
