import { setImmediate as nextTurn } from 'node:timers/promises'

export type Lookup<T> = (key: string) => Promise<T | undefined>

/**
 * Batches look-ups by key: keys asked for in one turn of the event loop go into one call of `ask`, made after the last of
 * them. So no caller gets a value older than its own call, and nothing is cached. If `ask` rejects, all of its callers do.
 */
export function createLookup<T>(
  ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): Lookup<T> {
  let keys = new Set<string>()
  let answer: Promise<ReadonlyMap<string, T>> | undefined

  async function askAtTheEndOfTurn() {
    await nextTurn()
    const asked = [...keys]
    keys = new Set()
    answer = undefined
    return ask(asked)
  }
  return async (key) => {
    keys.add(key)
    answer ??= askAtTheEndOfTurn()
    return (await answer).get(key)
  }
}
