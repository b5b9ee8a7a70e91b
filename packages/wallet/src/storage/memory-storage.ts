import { createLocalLocks } from './local-locks.js'
import { type WalletStorage } from './storage.js'

/**
 * Forgets everything when the program or the page ends, also a payment whose outcome is not known yet. Shared by those who are
 * given the same object.
 */
export function memoryStorage(): WalletStorage {
  const values = new Map<string, string>()
  return {
    ...createLocalLocks(),
    get: (key) => Promise.resolve(values.get(key)),
    set(key, value) {
      values.set(key, value)
      return Promise.resolve()
    },
    create(key, value) {
      if (values.has(key)) return Promise.resolve(false)
      values.set(key, value)
      return Promise.resolve(true)
    },
    delete(key) {
      values.delete(key)
      return Promise.resolve()
    },
    list: (prefix) => Promise.resolve([...values.keys()].filter((key) => key.startsWith(prefix)).sort()),
  }
}
