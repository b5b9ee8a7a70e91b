import { ApiError } from '@tollgate/service'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Batches writes: items that arrive during a flush, or within `pauseMs` after it, go into the next one. A lone item is flushed at
 * once.
 *
 * `flush` returns one result for each item, in order. After an error that `isRolledBack` accepts, nothing was written and the
 * batch is flushed again in halves, so that a bad item fails alone. After any other error the outcome is unknown and the whole
 * batch is rejected.
 *
 * One flush runs at a time, unless it has run for `stalledAfterMs`: then others run beside it, up to `lanes` in all, so that one
 * broken connection does not hold up all items.
 *
 * `submit` throws ApiError OVERLOADED if `maxWaiting` items wait, and UNAVAILABLE if splitting one batch took longer than
 * `maxSplittingMs`: nothing was written in either case.
 */
export function createGroupCommit<Item, Result>(options: {
  flush: (items: Item[]) => Promise<Result[]>
  isRolledBack: (error: unknown) => boolean
  lanes: number
  maxItems: number
  maxWaiting: number
  /** Limits how long other items wait while a batch is split. */
  maxSplittingMs: number
  /** 0 by default: all lanes are used at once. */
  stalledAfterMs?: number
  /** 0 by default. */
  pauseMs?: number
  /** `waitedMs`: of its oldest item. Of a batch that is split, each attempt. */
  onBatch?: (batch: { items: number; waitedMs: number; tookMs: number }) => void
}) {
  const { flush, isRolledBack, lanes, maxItems, maxWaiting, maxSplittingMs } = options
  const { stalledAfterMs = 0, pauseMs = 0, onBatch } = options
  type Lane = { flushingSince: number }
  type Waiting = {
    item: Item
    submittedAt: number
    resolve: (result: Result) => void
    reject: (reason: unknown) => void
  }
  const waiting: Waiting[] = []
  const activeLanes = new Set<Lane>()
  let onIdle: (() => void)[] = []

  const flushBatch = async (batch: Waiting[]) => {
    const reason = await attempt(batch)
    if (reason === undefined) return
    const deadline = performance.now() + maxSplittingMs
    // A stack whose top is the first half, which keeps the order of arrival.
    const parts = halvesOf(batch)
    for (let part = parts.pop(); part; part = parts.pop()) {
      if (performance.now() > deadline) for (const { reject } of part) reject(notWritten(reason))
      else if ((await attempt(part)) !== undefined) parts.push(...halvesOf(part))
    }
  }

  const attempt = async (batch: Waiting[]): Promise<unknown> => {
    const startedAt = performance.now()
    try {
      const results = await flush(batch.map(({ item }) => item))
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result === undefined) reject(new Error('A flush gave no result for one of its items'))
        else resolve(result)
      })
    } catch (error) {
      if (batch.length > 1 && isRolledBack(error)) return error
      for (const { reject } of batch) reject(error)
    } finally {
      const waitedMs = startedAt - (batch[0]?.submittedAt ?? startedAt)
      onBatch?.({ items: batch.length, waitedMs, tookMs: performance.now() - startedAt })
    }
    return undefined
  }

  const mayFlush = (own?: Lane): boolean => {
    const stalledSince = performance.now() - stalledAfterMs
    for (const lane of activeLanes) if (lane !== own && lane.flushingSince > stalledSince) return false
    return activeLanes.size < lanes || own !== undefined
  }

  function startLane() {
    if (waiting.length > 0 && mayFlush()) void runLane()
  }

  const runLane = async () => {
    const lane = { flushingSince: performance.now() }
    activeLanes.add(lane)
    // Collects the items submitted in this turn of the event loop.
    await Promise.resolve()
    while (waiting.length > 0 && mayFlush(lane)) {
      lane.flushingSince = performance.now()
      const spare = setTimeout(startLane, stalledAfterMs + 1)
      await flushBatch(waiting.splice(0, maxItems))
      clearTimeout(spare)
      if (pauseMs > 0 && waiting.length < maxItems) await delay(pauseMs)
    }
    activeLanes.delete(lane)
    if (activeLanes.size === 0) {
      for (const done of onIdle) done()
      onIdle = []
    }
  }

  const submit = (item: Item): Promise<Result> => {
    if (waiting.length >= maxWaiting)
      return Promise.reject(
        new ApiError('OVERLOADED', 'Too many calls are waiting; try again', { retryAfterSeconds: 1 }),
      )
    return new Promise<Result>((resolve, reject) => {
      waiting.push({ item, submittedAt: performance.now(), resolve, reject })
      startLane()
    })
  }

  return {
    submit,
    waiting: () => waiting.length,
    drain: () =>
      activeLanes.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => onIdle.push(resolve)),
  }
}

function halvesOf<Item>(batch: Item[]): [Item[], Item[]] {
  const half = Math.ceil(batch.length / 2)
  return [batch.slice(half), batch.slice(0, half)]
}

const notWritten = (cause: unknown) =>
  new ApiError('UNAVAILABLE', 'The database is overloaded and nothing was written; try again', {
    retryAfterSeconds: 1,
    cause,
  })
