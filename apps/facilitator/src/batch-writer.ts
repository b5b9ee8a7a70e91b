import { isRolledBack } from '@tollgate/database'
import { ApiError } from '@tollgate/service'

const MAX_ITEMS = 256
/** More than requests can wait for a settlement. */
const MAX_WAITING = 8_192
/** Limits how long other items wait while a batch is written one at a time. */
const MAX_SPLITTING_MS = 5_000

type Waiting<Item, Result> = {
  item: Item
  resolve: (result: Result | undefined) => void
  reject: (reason: unknown) => void
}

/**
 * Writes the items that arrive during a write with the next statement; a lone item is written at once. `write` returns the
 * results by key, and nothing for an item that it did not write. Two items of one key never share a statement.
 *
 * If Postgres refuses a statement, nothing of it was written, and its items are written one at a time, so that a bad one fails
 * alone. After any other error the outcome is unknown, and all of them fail.
 */
export function createBatchWriter<Item, Result>({
  keyOf,
  write,
  lanes,
}: {
  keyOf: (item: Item) => string
  write: (items: readonly Item[]) => Promise<ReadonlyMap<string, Result>>
  /** Statements at once: one that waits for a row lock must not hold up all others. */
  lanes: number
}) {
  let waiting: Waiting<Item, Result>[] = []
  const underWay = new Set<string>()
  let activeLanes = 0

  /** Items whose key is under way wait for the next statement. */
  function takeBatch(): Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = []
    const rest: Waiting<Item, Result>[] = []
    for (const one of waiting) {
      const key = keyOf(one.item)
      if (batch.length >= MAX_ITEMS || underWay.has(key)) rest.push(one)
      else {
        underWay.add(key)
        batch.push(one)
      }
    }
    waiting = rest
    return batch
  }

  async function writeBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await write(batch.map(({ item }) => item))
      for (const { item, resolve } of batch) resolve(results.get(keyOf(item)))
    } catch (error) {
      if (batch.length > 1 && isRolledBack(error)) await writeEach(batch, error)
      else for (const { reject } of batch) reject(error)
    }
  }

  async function writeEach(batch: readonly Waiting<Item, Result>[], reason: unknown): Promise<void> {
    const deadline = performance.now() + MAX_SPLITTING_MS
    for (const one of batch)
      if (performance.now() < deadline) await writeBatch([one])
      else one.reject(reason)
  }

  async function runLane(): Promise<void> {
    activeLanes++
    // Collects the items of this turn of the event loop.
    await Promise.resolve()
    for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) {
      await writeBatch(batch)
      for (const { item } of batch) underWay.delete(keyOf(item))
    }
    activeLanes--
  }

  return (item: Item): Promise<Result | undefined> => {
    if (waiting.length >= MAX_WAITING)
      throw new ApiError('OVERLOADED', 'Too many payments are waiting; try again', { retryAfterSeconds: 2 })
    return new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (activeLanes < lanes) void runLane()
    })
  }
}
