import { setImmediate as nextTurn } from 'node:timers/promises'

export type BatchLoader<T> = (key: string) => Promise<T | undefined>

/** Batches at once. More of them would be smaller: the cost of a query hardly depends on its keys. */
const LANES = 2

/**
 * Loads the keys of one turn of the event loop, and those that arrive while {@link LANES} batches are loading, with one call of
 * `loadBatch`, made after the last of them: no caller gets a value older than its own call. Unlike the dataloader package, it
 * deduplicates keys without caching values across batches.
 */
export function createBatchLoader<T>(
  loadBatch: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): BatchLoader<T> {
  let keys = new Set<string>()
  let batch: Promise<ReadonlyMap<string, T>> | undefined
  const loading = new Set<Promise<unknown>>()

  async function loadNext(): Promise<ReadonlyMap<string, T>> {
    await nextTurn()
    while (loading.size >= LANES) await Promise.race(loading)
    const requested = [...keys]
    keys = new Set()
    batch = undefined
    const result = loadBatch(requested)
    const ended: Promise<unknown> = result.then(
      () => loading.delete(ended),
      () => loading.delete(ended),
    )
    loading.add(ended)
    return result
  }
  return async (key) => {
    keys.add(key)
    batch ??= loadNext()
    return (await batch).get(key)
  }
}
