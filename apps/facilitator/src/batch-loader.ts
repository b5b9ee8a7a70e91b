import { setImmediate as nextTurn } from 'node:timers/promises'

export type BatchLoader<T> = (key: string) => Promise<T | undefined>

/**
 * Loads the keys of one turn of the event loop with one call of `loadBatch`, made after the last of them: no caller gets a
 * value older than its own call. Unlike the dataloader package, it deduplicates keys without caching values across batches.
 */
export function createBatchLoader<T>(
  loadBatch: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): BatchLoader<T> {
  let keys = new Set<string>()
  let batch: Promise<ReadonlyMap<string, T>> | undefined

  async function loadAtEndOfTurn() {
    await nextTurn()
    const requested = [...keys]
    keys = new Set()
    batch = undefined
    return loadBatch(requested)
  }
  return async (key) => {
    keys.add(key)
    batch ??= loadAtEndOfTurn()
    return (await batch).get(key)
  }
}
