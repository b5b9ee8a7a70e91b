import { ApiError } from '@tollgate/service'

/**
 * Many small writes as few large ones. What is asked for while a flush is under way waits and goes with the next; a
 * lone item is flushed at once, so it waits for nobody. No timer decides anything.
 *
 * `flush` answers one result for each item, in their order. Where it rejects with an error that `isUndone` knows, nothing
 * of the flush was written: it is flushed again in halves, so that an item which cannot be written fails alone. Where it
 * rejects with any other, what became of its items is not known, and all of them are rejected with that error.
 *
 * @throws ApiError OVERLOADED from `submit` when `maxWaiting` items wait already, and UNAVAILABLE where a lane has spent
 *   `maxSplittingMs` on the halves of one flush: nothing was written in either case
 */
export function createGroupCommit<Item, Result>(options: {
  flush: (items: Item[]) => Promise<Result[]>
  isUndone: (error: unknown) => boolean
  /** Flushes under way at the same time. */
  lanes: number
  maxItems: number
  maxWaiting: number
  /** The longest that the items behind a flush wait for its halves. */
  maxSplittingMs: number
}) {
  const { flush, isUndone, lanes, maxItems, maxWaiting, maxSplittingMs } = options
  type Waiting = { item: Item; resolve: (result: Result) => void; reject: (reason: unknown) => void }
  const waiting: Waiting[] = []
  let busy = 0
  let idle: (() => void)[] = []

  const write = async (batch: Waiting[]) => {
    const reason = await attempt(batch)
    if (reason === undefined) return
    const deadline = performance.now() + maxSplittingMs
    // The last of these is next, so that who asked first is served first.
    const parts = halvesOf(batch)
    for (let part = parts.pop(); part; part = parts.pop()) {
      if (performance.now() > deadline) for (const { reject } of part) reject(notTried(reason))
      else if ((await attempt(part)) !== undefined) parts.push(...halvesOf(part))
    }
  }

  /** Flushes, and tells the items; answers the error where they are to be tried again in halves. */
  const attempt = async (batch: Waiting[]): Promise<unknown> => {
    try {
      const results = await flush(batch.map(({ item }) => item))
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result === undefined) reject(new Error('A flush gave no result for one of its items'))
        else resolve(result)
      })
    } catch (error) {
      if (batch.length > 1 && isUndone(error)) return error
      for (const { reject } of batch) reject(error)
    }
    return undefined
  }

  const run = async () => {
    busy++
    // The calls of this turn of the event loop go together.
    await Promise.resolve()
    while (waiting.length > 0) await write(waiting.splice(0, maxItems))
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

/** Both halves, the second one first. */
function halvesOf<Item>(batch: Item[]): [Item[], Item[]] {
  const half = Math.ceil(batch.length / 2)
  return [batch.slice(half), batch.slice(0, half)]
}

const notTried = (cause: unknown) =>
  new ApiError('UNAVAILABLE', 'Postgres is struggling just now and nothing was written; try again', {
    retryAfterSeconds: 1,
    cause,
  })
