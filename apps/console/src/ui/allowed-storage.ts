export type StoragePlace = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

const PROBE = 'tollgate-probe'

/** The storage of this browser, or one that ends with the page if site data is blocked. `storage` may throw. */
export function allowedStorage(storage: () => StoragePlace): StoragePlace {
  try {
    const place = storage()
    place.setItem(PROBE, '')
    place.removeItem(PROBE)
    return place
  } catch {
    return inMemory()
  }
}

function inMemory(): StoragePlace {
  const values = new Map<string, string>()
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  }
}
