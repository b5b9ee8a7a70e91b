import { ApiError } from '@tollgate/service'

/**
 * Many small writes as few large ones. What is asked for while a flush is under way waits and goes with the next; a
 * lone item is flushed at once, so it waits for nobody. No timer decides anything.
 *
 * `flush` answers one result for each item, in their order; if it rejects, so does every item of that flush.
 *
 * @throws ApiError OVERLOADED from the returned function when `maxWaiting` items wait already: nothing was written
 */
export function createGroupCommit<Item, Result>(options: {
  flush: (items: Item[]) => Promise<Result[]>
  /** Flushes under way at the same time. */
  lanes: number
  maxItems: number
  maxWaiting: number
}) {
  const { flush, lanes, maxItems, maxWaiting } = options
  type Waiting = { item: Item; resolve: (result: Result) => void; reject: (reason: unknown) => void }
  const waiting: Waiting[] = []
  let busy = 0
  let idle: (() => void)[] = []

  const run = async () => {
    busy++
    // The calls of this turn of the event loop go together.
    await Promise.resolve()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems)
      try {
        const results = await flush(batch.map(({ item }) => item))
        batch.forEach(({ resolve, reject }, index) => {
          const result = results[index]
          if (result === undefined) reject(new Error('A flush gave no result for one of its items'))
          else resolve(result)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    busy--
    if (busy === 0) {
      for (const done of idle) done()
      idle = []
    }
  }

  const submit = (item: Item): Promise<Result> => {
    if (waiting.length >= maxWaiting)
      return Promise.reject(
        new ApiError('OVERLOADED', 'Too many calls wait just now; try again', { retryAfterSeconds: 1 }),
      )
    return new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (busy < lanes) void run()
    })
  }

  return {
    submit,
    waiting: () => waiting.length,
    /** Resolves when all that was submitted is flushed. */
    drained: () => (busy === 0 ? Promise.resolve() : new Promise<void>((resolve) => idle.push(resolve))),
  }
}
