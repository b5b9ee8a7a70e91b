import { setImmediate as nextTurn } from 'node:timers/promises'

export type Lookup<T> = (key: string) => Promise<T | undefined>

/**
 * Looks things up by their key. Those that are asked for in one turn of the event loop are asked for together, each once
 * and after the last of them: nobody is told less than what held when they asked, and nothing is kept. A question that
 * fails, fails for all who asked it.
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
