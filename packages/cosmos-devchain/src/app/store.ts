/** Keys begin with the name of their table and a slash: `balance/cosmos1.../uatom`. */
export type Store = {
  get(key: string): string | undefined
  set(key: string, value: string): void
  delete(key: string): void
  /** Unordered. */
  keysOf(prefix: string): string[]
}

/** New values by key; undefined for a deleted key. */
export type Changes = ReadonlyMap<string, string | undefined>

const tableOf = (key: string) => key.slice(0, key.indexOf('/'))

export function createStore() {
  const tables = new Map<string, Map<string, string>>()

  const store: Store = {
    get: (key) => tables.get(tableOf(key))?.get(key),
    set(key, value) {
      const name = tableOf(key)
      const table = tables.get(name) ?? new Map<string, string>()
      tables.set(name, table.set(key, value))
    },
    delete: (key) => void tables.get(tableOf(key))?.delete(key),
    keysOf: (prefix) =>
      [...(tables.get(tableOf(prefix))?.keys() ?? [])].filter((key) => key.startsWith(prefix)),
  }

  return {
    ...store,
    /** Returns the changes that undo these. */
    apply(changes: Changes): Changes {
      const undo = new Map([...changes.keys()].map((key) => [key, store.get(key)]))
      for (const [key, value] of changes)
        if (value === undefined) store.delete(key)
        else store.set(key, value)
      return undo
    },
    entries: () => [...tables.values()].flatMap((table) => [...table]),
  }
}

export type Branch = ReturnType<typeof branch>

/** Reads from `parent`, and buffers its own changes until `write`. */
export function branch(parent: Store, changes = new Map<string, string | undefined>()) {
  const store: Store = {
    get: (key) => (changes.has(key) ? changes.get(key) : parent.get(key)),
    set: (key, value) => void changes.set(key, value),
    delete: (key) => void changes.set(key, undefined),
    keysOf(prefix) {
      const own = [...changes.keys()].filter((key) => key.startsWith(prefix))
      return [...new Set([...parent.keysOf(prefix), ...own])].filter((key) => store.get(key) !== undefined)
    },
  }
  return {
    ...store,
    changes: changes as Changes,
    write() {
      for (const [key, value] of changes)
        if (value === undefined) parent.delete(key)
        else parent.set(key, value)
    },
  }
}
