/** Callers with the same key in one turn of the event loop share one promise. */
export function coalesce<T, Key = void>(load: (key: Key) => Promise<T>) {
  const loading = new Map<Key, Promise<T>>()
  return (key: Key): Promise<T> => {
    const known = loading.get(key)
    if (known !== undefined) return known
    if (loading.size === 0) setImmediate(() => loading.clear())
    const result = load(key)
    loading.set(key, result)
    return result
  }
}
